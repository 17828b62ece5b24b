// The HTTP under MCP's HTTP transports, to the one origin of a server: bounds on connecting, on the whole of an exchange
// and on what is read at all. Follows no redirect (the transport follows those within the server's own origin), decodes no
// compression.
import { setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { HttpClient } from '#libs/http-client/http-client.js';
import type { HttpAnswer, HttpFailure } from '#libs/http-client/outgoing.js';
import { streamOf } from '#libs/http-client/stream-of.js';
import { AppError, type ErrorCode } from '#libs/schemas/errors.js';
import { callScope } from './call-scope.js';
import { EventReader, type EventBound } from './event-reader.js';
import { FloodGate } from './flood-gate.js';
import { tooLargePhrase } from './guarded-transport.js';
import { readable, readableData } from './read-message.js';
import type { OnServerBound } from './server-bound.js';
import { maxValues, ValueCounter } from './value-counter.js';

export interface FetchBounds {
  /** Maximum size of a body, or of one event in a stream of events. */
  maxBytes: number;
  connectMs: number;
  /** Maximum time of a whole exchange; a stream that the server keeps open for notifications has none. */
  totalMs: number;
  /** Concurrent exchanges. A server may answer elsewhere and leave the exchange open: each costs a descriptor. */
  maxExchanges: number;
  onBound?: OnServerBound;
}

/**
 * Idle connections are closed before servers do it (Node's after five seconds, others as announced in `Keep-Alive`):
 * a call on a connection that is just closing would fail as if it had run.
 */
const keepAliveMs = 4_000;
const bodiless = new Set([204, 304]);

const codes: Partial<Record<HttpFailure['kind'], ErrorCode>> = {
  timeout: 'tool_timeout',
  not_http: 'invalid_tool_result',
  lost: 'tool_crashed',
  cut: 'tool_crashed',
};

export class BoundedFetch {
  /** Called when more arrives than can be accepted: read nothing more from this server. */
  onFlood?: (failure: AppError) => void;
  private readonly client: HttpClient;
  private readonly noise = new FloodGate();
  private failure?: AppError;

  constructor(
    private readonly origin: string,
    private readonly bounds: FetchBounds,
  ) {
    this.client = new HttpClient({
      baseUrl: origin,
      headers: {},
      timeoutMs: { connect: bounds.connectMs, first_byte: Infinity, idle: Infinity },
      keepAliveMs,
      maxExchanges: bounds.maxExchanges,
      // The readers bound bodies and events.
      maxBytes: Infinity,
      opensAt: 'headers',
      toError: (failure) => this.toError(failure),
    });
  }

  /** An arrow function, since the SDK calls it without the object. */
  readonly fetch = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input);
    if (url.origin !== this.origin)
      throw new AppError('tool_unavailable', 'The tool server redirects to another origin');
    const method = init.method ?? 'GET';
    const headers: Record<string, string> = Object.fromEntries(new Headers(init.headers ?? {}));
    const isSubscription = method === 'GET' || headers['mcp-method'] === 'subscriptions/listen';
    const signal = init.signal ?? new AbortController().signal;
    // All exchanges of a connection may share one signal.
    setMaxListeners(0, signal);
    headers['accept-encoding'] = 'identity';
    // The transports send JSON.
    const request = { method, path: url.pathname + url.search, headers, body: init.body as string | undefined };
    const totalMs = this.bounds.totalMs + (callScope.getStore()?.questionsMs ?? 0);
    const deadline = isSubscription ? Infinity : steadyNow() + totalMs;
    const answer = await this.client.open(request, { signal, deadline });
    return this.response(answer, { ...init, method });
  };

  close(): void {
    this.client.close().catch(() => undefined);
  }

  /** Rewrites members of a message that the SDK's strict schemas would refuse. */
  private response(answer: HttpAnswer, { method, body: sent }: RequestInit): Response {
    const headers = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) {
      for (const each of [value].flat()) if (each !== undefined) headers.append(name, each);
    }
    const { status } = answer;
    const events = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');
    // An answer that is not a stream of events carries no notifications, and would be requested again and again.
    if (bodiless.has(status) || status === 205 || status > 599 || (status === 200 && method === 'GET' && !events)) {
      answer.close(bodiless.has(status));
      if (status > 599) throw new AppError('tool_failed', 'The tool server sent no HTTP status');
      return new Response(null, { status, headers });
    }
    const { maxBytes } = this.bounds;
    const toError = (bound: EventBound) => this.exceeded(bound);
    const rewrite = (data: Buffer) => (status === 200 ? readableData(data, sent) : undefined);
    // In a stream of events, each event and the noise between messages are bounded.
    const reader = events
      ? new EventReader({ maxBytes, noise: this.noise, rewrite, toError })
      : new BodyReader(maxBytes, toError);
    const body = streamOf(answer, (bytes) => reader.feed(bytes as Buffer));
    const response = new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, { status, headers });
    if (!response.ok || !/^application\/json\b/i.test(headers.get('content-type') ?? '')) return response;
    const json = async () => {
      const value: unknown = JSON.parse(await response.text());
      return Array.isArray(value) ? value.map((each) => readable(each, sent)) : readable(value, sent);
    };
    return Object.assign(response, { json });
  }

  private exceeded(bound: EventBound): AppError {
    if (bound === 'noise') return this.flooded();
    const { maxBytes, onBound } = this.bounds;
    onBound?.(bound);
    const read = bound === 'message_bytes' ? `${maxBytes} bytes` : `${maxValues} values`;
    return new AppError('result_too_large', `The answer of the tool server is ${tooLargePhrase} (${read})`);
  }

  private flooded(): AppError {
    if (this.failure === undefined) {
      this.failure = new AppError('tool_crashed', 'The tool server wrote more output than is accepted');
      this.bounds.onBound?.('noise');
      this.onFlood?.(this.failure);
    }
    return this.failure;
  }

  /** Callers see the message, so it has no address. */
  private toError({ kind, what, cause }: HttpFailure): Error {
    if (kind === 'cancelled') return cause instanceof Error ? cause : new Error('aborted');
    if (kind === 'noise') return this.flooded();
    if (kind === 'crowded') this.bounds.onBound?.('exchanges');
    const said = kind === 'crowded' ? 'leaves too many requests open' : what;
    return new AppError(codes[kind] ?? 'tool_unavailable', `The tool server ${said}`, { cause });
  }
}

class BodyReader {
  private readonly values = new ValueCounter();
  private bytes = 0;

  constructor(
    private readonly maxBytes: number,
    private readonly toError: (bound: EventBound) => Error,
  ) {}

  feed(chunk: Buffer): Buffer {
    this.bytes += chunk.length;
    if (this.bytes > this.maxBytes) throw this.toError('message_bytes');
    if (!this.values.feed(chunk)) throw this.toError('message_values');
    return chunk;
  }
}
