// Streams a turn to its caller.
import type { FastifyReply } from 'fastify';
import { logFailure } from '#libs/logging/log-failure.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { NumberedEvent } from '#libs/runs/run-store.js';
import { type AppError, toAppError } from '#libs/schemas/errors.js';
import type { SseRenderer } from '../../chat-apis/sse-renderer.js';
import type { TakeTurnEvents } from '../../turn/record.js';
import { openSse, type SseOptions, type SseStream } from './open-sse.js';

export interface StreamOptions extends Omit<SseOptions, 'keepAlive'> {
  requestId: string;
  /** Headers are sent after this time even if there is no event; 0: at once. */
  headersAfterMs: number;
  onError: (error: AppError, requestId: string) => void;
}

/** Counts and logs errors after the first byte, which do not reach the error filter. */
export const observerOfStreams =
  (metrics: Pick<Metrics, 'countError'>, logger: Logger) =>
  (error: AppError, requestId: string): void => {
    metrics.countError(error);
    if (error.code === 'internal_error') logFailure(logger, error, { requestId });
  };

/**
 * Streams the events that `run` emits, each batch in one write. An error before the headers is thrown, for an HTTP
 * status. Later it becomes an error event, and the stream ends without its normal end. `rendererOf` is called once, when
 * the stream starts.
 */
export async function streamTurn(
  reply: FastifyReply,
  run: (take: TakeTurnEvents) => Promise<void>,
  rendererOf: () => SseRenderer,
  options: StreamOptions,
): Promise<void> {
  const stream = new TurnStream(reply, rendererOf, options);
  try {
    await run((batch) => stream.take(batch));
    await stream.end();
  } catch (thrown) {
    if (!stream.isOpen) throw thrown;
    const error = toAppError(thrown);
    options.onError(error, options.requestId);
    await stream.fail(error);
  } finally {
    stream.close();
  }
}

class TurnStream {
  private opened: { sse: SseStream; renderer: SseRenderer } | undefined;
  private headersTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly reply: FastifyReply,
    private readonly rendererOf: () => SseRenderer,
    private readonly options: StreamOptions,
  ) {
    if (options.headersAfterMs === 0) this.open();
    else this.headersTimer = setTimeout(() => this.sendKeepAlive(), options.headersAfterMs);
  }

  get isOpen(): boolean {
    return this.opened !== undefined;
  }

  take(batch: readonly NumberedEvent[]): Promise<void> | undefined {
    const { sse, renderer } = this.opened ?? this.open();
    let text = '';
    for (const { event, n } of batch) text += renderer.render(event, n);
    return text === '' ? undefined : sse.write(text);
  }

  end(): Promise<void> | undefined {
    const { sse, renderer } = this.opened ?? this.open();
    return sse.write(renderer.end);
  }

  fail(error: AppError): Promise<void> | undefined {
    const { sse, renderer } = this.opened ?? this.open();
    return sse.write(renderer.renderError(error, this.options.requestId));
  }

  close(): void {
    clearTimeout(this.headersTimer);
    this.opened?.sse.end();
  }

  private open() {
    clearTimeout(this.headersTimer);
    const renderer = this.rendererOf();
    return (this.opened = {
      sse: openSse(this.reply, { ...this.options, keepAlive: renderer.keepAlive }),
      renderer,
    });
  }

  private sendKeepAlive(): void {
    const { sse, renderer } = this.open();
    void sse.write(renderer.keepAlive);
  }
}
