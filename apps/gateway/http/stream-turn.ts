// Writes a turn to its caller as a stream.
import type { FastifyReply } from 'fastify';
import { logFailure } from '#libs/logging/log-failure.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { NumberedEvent } from '#libs/runs/run-store.js';
import { type AppError, toAppError } from '#libs/schemas/errors.js';
import type { SseRenderer } from '../doors/sse-renderer.js';
import { openSse, type SseOptions } from './open-sse.js';

export interface StreamOptions extends Omit<SseOptions, 'keepAlive'> {
  requestId: string;
  /** When the headers go out though nothing has happened yet. */
  headersAfterMs: number;
  /** Keep reading events when the reader has gone. */
  detached: boolean;
  onError: (error: AppError, requestId: string) => void;
}

/** What fails after the first byte passes by the filter: what is a bug of ours is logged here. */
export const observerOfStreams =
  (metrics: Pick<Metrics, 'countError'>, logger: Logger) =>
  (error: AppError, requestId: string): void => {
    metrics.countError(error);
    if (error.code === 'internal_error') logFailure(logger, error, requestId);
  };

/**
 * Streams the events, those of one batch in one write. What fails before the first one is thrown, for an HTTP status; later it is an error event, and the
 * stream ends without saying that it is complete.
 */
export async function streamTurn(
  reply: FastifyReply,
  events: AsyncIterable<readonly NumberedEvent[]>,
  renderer: SseRenderer,
  options: StreamOptions,
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]();
  const first = iterator.next();
  const early = await Promise.race([first.then(() => 'event' as const), after(options.headersAfterMs, first)]);
  const stream = openSse(reply, { ...options, keepAlive: renderer.keepAlive });
  if (early === 'silence') await stream.write(renderer.keepAlive);
  try {
    for (let next = await first; next.done !== true; next = await iterator.next()) {
      let text = '';
      for (const { event, n } of next.value) text += renderer.render(event, n);
      const taken = text === '' ? undefined : stream.write(text);
      if (taken !== undefined) await taken;
      if (reply.raw.destroyed && !options.detached) break;
    }
    await stream.write(renderer.end);
  } catch (thrown) {
    const error = toAppError(thrown);
    options.onError(error, options.requestId);
    await stream.write(renderer.renderError(error, options.requestId));
  } finally {
    // A reader that left has aborted the turn's signal; the turn still ends its run in order.
    await drain(iterator);
    stream.end();
  }
}

async function after(ms: number, unless: Promise<unknown>): Promise<'silence' | 'event'> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<'silence'>((resolve) => {
    timer = setTimeout(() => resolve('silence'), ms);
  });
  try {
    return await Promise.race([silence, unless.then(() => 'event' as const)]);
  } finally {
    clearTimeout(timer);
  }
}

async function drain(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    while ((await iterator.next()).done !== true);
  } catch {
    // Recorded where it happened; nobody is left to be told.
  }
}
