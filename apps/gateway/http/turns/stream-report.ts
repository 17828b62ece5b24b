// Streams the events of something that is looked up for a caller and takes a while. It ends with the caller's connection.
import type { FastifyReply } from 'fastify';
import { renderError } from '#libs/http-server/render-error.js';
import { type AppError, toAppError } from '#libs/schemas/errors.js';
import { openSse } from './open-sse.js';

export interface ReportOptions {
  requestId: string;
  /** Aborted when the caller has gone. */
  signal: AbortSignal;
  keepAliveMs: number;
  onError: (error: AppError, requestId: string) => void;
}

/** Writes events; undefined: no need to wait. */
export type TellEvents = (events: readonly object[]) => Promise<void> | undefined;

/** After the events of `report` comes `[DONE]`. An error is the last event, and nothing comes after it. */
export async function streamReport(
  reply: FastifyReply,
  { requestId, signal, keepAliveMs, onError }: ReportOptions,
  report: (tell: TellEvents) => Promise<void>,
): Promise<void> {
  const sse = openSse(reply, { keepAlive: ': keep-alive\n\n', keepAliveMs });
  const tell: TellEvents = (events) => sse.write(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  try {
    await report(tell);
    await sse.write('data: [DONE]\n\n');
  } catch (thrown) {
    // Whoever has gone has cancelled it.
    if (signal.aborted) return;
    const error = toAppError(thrown);
    onError(error, requestId);
    await tell([renderError(error, requestId)]);
  } finally {
    sse.end();
  }
}
