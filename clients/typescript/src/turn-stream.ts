// The events of one turn, over as many connections as it takes. A stream that breaks off continues after the last event
// that was received, on whichever gateway answers; if the turn's own gateway died, another one continues the turn.
import type { ChatCompletion, ChatEvent, GatewayEvent } from './chat-types.js';
import { type ShownError, SignalboxError, toSignalboxError } from './errors.js';
import { foldEvents } from './fold-events.js';
import { type ApiRequest, RequestTimer, type Http, mayPass, pause, pauseMs } from './http.js';
import { readEvents } from './read-events.js';

export interface TurnSource {
  /** Starts the turn, or attaches to it again by its `Idempotency-Key`: then all events come again from the first. */
  start?: ApiRequest;
  runId?: string;
  /** The last event that the reader has. */
  after?: number;
  /** The stream is continued when it breaks off. */
  resume: boolean;
  /** The turn goes on without its reader, so a reader that leaves cancels it. */
  cancel: boolean;
}

interface SeenEvent {
  n: number;
  event: GatewayEvent;
}

export class TurnStream implements AsyncIterable<ChatEvent> {
  /** Known from the first answer on: `runs.get` and `runs.events` take it. */
  runId: string | undefined;
  private readonly seen: SeenEvent[] = [];
  private begun = false;
  private complete = false;
  /** The run broke off, and only the request that started it continues it. */
  private interrupted = false;
  /** The reader left before the run's id was known. */
  private leftEarly = false;

  constructor(
    private readonly http: Http,
    private readonly source: TurnSource,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.runId = source.runId;
  }

  /** Can be read once. Ends after the turn's last event. @throws SignalboxError for a turn that failed, or could not be continued */
  [Symbol.asyncIterator](): AsyncGenerator<ChatEvent, void> {
    if (this.begun) throw new Error('The events of a turn can be read once');
    this.begun = true;
    return this.read();
  }

  /** The whole answer, as the gateway gives it without a stream. Reads the events if nobody has. */
  async completion(): Promise<ChatCompletion> {
    if (!this.begun) for await (const event of this) void event;
    if (!this.complete) throw new Error('The turn has not been read to its end');
    return foldEvents(this.seen.map(({ event }) => event));
  }

  private async *read(): AsyncGenerator<ChatEvent, void> {
    try {
      for (let attempt = 1; ; attempt++) {
        const had = this.seen.length;
        try {
          yield* this.connection();
          this.complete = true;
          return;
        } catch (error) {
          if (this.seen.length > had) attempt = 1;
          if (attempt > this.http.maxRetries || !this.mayContinue(error)) throw error;
          await pause(pauseMs(attempt, error), this.signal);
        }
      }
    } finally {
      if (!this.complete) this.leave();
    }
  }

  /** The events of one connection that the reader does not have yet. */
  private async *connection(): AsyncGenerator<ChatEvent, void> {
    this.signal?.throwIfAborted();
    const deadline = new RequestTimer(this.http.idleTimeoutMs);
    const request = this.nextRequest();
    /** How many events the reader has, of those that are sent again from the first on. */
    let known = request === this.source.start ? 0 : this.seen.length;
    try {
      const response = await this.open(request, deadline);
      for await (const { id, data } of readEvents(response.body!, deadline)) {
        // Events that arrived before the reader's signal are not shown after it.
        this.signal?.throwIfAborted();
        if (data === '[DONE]') return;
        const event = parse(data);
        if ('error' in event) throw toSignalboxError(event.error);
        const n = Number(id);
        const seen = this.seen[known];
        // A turn whose events are no longer stored comes again with other events under the same numbers.
        if (seen?.n === n && JSON.stringify(seen.event) === data) {
          known += 1;
          continue;
        }
        if (event.type === 'rewind') {
          known = this.seen.filter((each) => each.n <= event.to).length;
          this.seen.length = known;
          yield { type: 'rewind', to: event.to };
          continue;
        }
        // A turn that is sent again from its first event lacks events that were withdrawn meanwhile.
        if (seen !== undefined) {
          this.seen.length = known;
          yield { type: 'rewind', to: this.lastN };
        }
        this.seen.push({ n, event });
        known += 1;
        yield { ...event, n };
      }
    } catch (thrown) {
      throw this.signal?.aborted === true ? this.signal.reason : deadline.explain(thrown);
    } finally {
      if (!this.leftEarly) deadline.end();
    }
    throw new SignalboxError('stream_cut', 'The stream ended before the turn did');
  }

  private get lastN(): number {
    return this.seen.at(-1)?.n ?? this.source.after ?? 0;
  }

  private nextRequest(): ApiRequest {
    const { start } = this.source;
    const known = this.runId !== undefined && this.seen.length + (this.source.after ?? 0) > 0;
    if (start !== undefined && (this.interrupted || !known)) return start;
    return {
      method: 'GET',
      path: `/api/runs/${encodeURIComponent(this.runId!)}/events`,
      headers: { 'last-event-id': String(this.lastN) },
    };
  }

  private async open(request: ApiRequest, deadline: RequestTimer): Promise<Response> {
    const { signal } = this;
    const answered = this.http.attempt(request, deadline).then((response) => {
      this.runId ??= response.headers.get('x-run-id') ?? undefined;
      return response;
    });
    if (this.runId !== undefined || !this.source.cancel) {
      deadline.follow(signal);
      return answered;
    }
    // Only a run whose id is known can be cancelled, so a reader that leaves before does not end this request.
    const leave = () => {
      this.leftEarly = true;
      const end = async () => {
        const response = await answered;
        await response.body?.cancel();
        this.leave();
      };
      end()
        .catch(() => undefined)
        .finally(() => deadline.end());
    };
    return settledOrAborted(answered, signal, leave).then((response) => {
      deadline.follow(signal);
      return response;
    });
  }

  private mayContinue(error: unknown): boolean {
    if (!this.source.resume || !(error instanceof SignalboxError) || this.signal?.aborted === true) return false;
    if (error.code === 'shutting_down') {
      this.interrupted = true;
      return this.source.start !== undefined;
    }
    return error.code === 'stream_cut' || error.code === 'timeout' || mayPass(error);
  }

  /** The reader left, by its signal, by `break`, or because the stream could not be continued. */
  private leave(): void {
    const { runId } = this;
    if (!this.source.cancel || runId === undefined) return;
    this.http.json({ method: 'DELETE', path: `/api/runs/${runId}` }).catch(() => undefined);
  }
}

/** `onAbort` is called if the signal comes first; then the promise rejects with the signal's reason. */
async function settledOrAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal | undefined,
  onAbort: () => void,
): Promise<Value> {
  let leave = () => undefined as void;
  const aborted = new Promise<never>((_resolve, reject) => {
    leave = () => {
      onAbort();
      reject(signal!.reason as Error);
    };
    signal?.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal?.removeEventListener('abort', leave);
  }
}

function parse(data: string): GatewayEvent | { error: ShownError } {
  try {
    return JSON.parse(data) as GatewayEvent | { error: ShownError };
  } catch (cause) {
    throw new SignalboxError('invalid_answer', 'An event is not JSON', { cause });
  }
}
