// Sends requests: the key, deadlines, aborting, and repeating what is safe to repeat.
import { errorOfAnswer, SignalboxError } from './errors.js';

export interface ClientOptions {
  /** The gateway's address, for example `http://127.0.0.1:8000`. */
  baseUrl: string;
  /** An API key or a token, or a function that returns the current one. Not needed while the gateway has no keys. */
  apiKey?: string | (() => string | undefined | Promise<string | undefined>);
  /**
   * How often a request, or a stream that broke off, is tried again before its error is thrown; default 5. A stream counts
   * anew when it has received something. Only what is safe to repeat is repeated.
   */
  maxRetries?: number;
  /** A stream without a sign of life for this long counts as broken; default 45 s, three keep-alives of the gateway. */
  idleTimeoutMs?: number;
  /** Sends the requests; default: the global `fetch`. */
  fetch?: (input: string, init: RequestInit) => Promise<Response>;
}

export interface CallOptions {
  /** Ends the call, which rejects with the signal's reason. */
  signal?: AbortSignal;
  /** The time for one attempt. Default: 60 s; 11 minutes for chats, tool calls and uploads, a minute more than a turn may take. */
  timeoutMs?: number;
}

export interface KeyedCallOptions extends CallOptions {
  /**
   * Requests with the same key and the same body run once, and get the same answer. Default: a new key for each call, so that
   * repeating after a broken connection is safe.
   */
  idempotencyKey?: string;
}

export interface ApiRequest {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  json?: object;
  body?: NonNullable<RequestInit['body']>;
  headers?: Record<string, string>;
  idempotencyKey?: string | undefined;
  /** Replaces the default of 60 s. */
  timeoutMs?: number;
}

export const longCallMs = 660_000;
const callMs = 60_000;
const longestPauseMs = 8_000;
/** A longer `Retry-After` is for the caller to decide. */
const longestRetryAfterMs = 30_000;

export class Http {
  readonly maxRetries: number;
  readonly idleTimeoutMs: number;
  private readonly baseUrl: string;
  private readonly fetch: NonNullable<ClientOptions['fetch']>;

  constructor(private readonly options: ClientOptions) {
    this.baseUrl = options.baseUrl.replace(/\/+$/, '');
    this.maxRetries = options.maxRetries ?? 5;
    this.idleTimeoutMs = options.idleTimeoutMs ?? 45_000;
    // Browsers refuse `fetch` as a method of another object.
    this.fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /** Sends a request whose answer is JSON, or empty. */
  json<Answer>(request: ApiRequest, options: CallOptions = {}): Promise<Answer> {
    return this.send(request, options, async (response) => {
      const text = await response.text();
      if (text === '') return undefined as Answer;
      try {
        return JSON.parse(text) as Answer;
      } catch (cause) {
        throw new SignalboxError('invalid_answer', 'The answer is not JSON', { status: response.status, cause });
      }
    });
  }

  /**
   * Sends a request until it is answered or may not be repeated. The deadline covers `read`; if that returns the response,
   * its body has no deadline, but the caller's signal still ends it.
   */
  async send<Answer>(
    request: ApiRequest,
    { signal, timeoutMs }: CallOptions,
    read: (response: Response) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const deadline = new RequestTimer(timeoutMs ?? request.timeoutMs ?? callMs, signal);
      try {
        const answer = await read(await this.attempt(request, deadline));
        if (answer instanceof Response) deadline.stopClock();
        else deadline.end();
        return answer;
      } catch (thrown) {
        const error = deadline.explain(thrown);
        deadline.end();
        if (attempt > this.maxRetries || !isRepeatable(request) || !mayPass(error)) throw error;
        await pause(pauseMs(attempt, error), signal);
      }
    }
  }

  /** One attempt, until the headers of a 2xx answer. @throws SignalboxError, or what `deadline.explain` understands */
  async attempt(request: ApiRequest, deadline: RequestTimer): Promise<Response> {
    const { apiKey } = this.options;
    const key = typeof apiKey === 'function' ? await apiKey() : apiKey;
    const { json, body = json === undefined ? undefined : JSON.stringify(json) } = request;
    const init: RequestInit = {
      method: request.method,
      headers: {
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(request.idempotencyKey === undefined ? {} : { 'idempotency-key': request.idempotencyKey }),
        ...request.headers,
      },
      signal: deadline.signal,
      ...(body === undefined ? {} : { body }),
      // Node requires `duplex` for a body that is sent while it is read.
      ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
    };
    const response = await this.fetch(this.urlOf(request), init);
    if (!response.ok) throw await errorOfAnswer(response);
    return response;
  }

  private urlOf({ path, query = {} }: ApiRequest): string {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
    const given = parameters.toString();
    return `${this.baseUrl}${path}${given === '' ? '' : `?${given}`}`;
  }
}

/** The time that a call has, and its caller's signal, as one signal. */
export class RequestTimer {
  readonly signal: AbortSignal;
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private caller: AbortSignal | undefined;
  private readonly leave = () => this.controller.abort(this.caller?.reason);

  constructor(
    private readonly ms: number,
    caller?: AbortSignal,
  ) {
    this.signal = this.controller.signal;
    this.touch();
    this.follow(caller);
  }

  /** From now on the caller's signal ends the call, too. */
  follow(caller: AbortSignal | undefined): void {
    this.caller = caller;
    if (caller?.aborted === true) this.leave();
    else caller?.addEventListener('abort', this.leave, { once: true });
  }

  /** Restarts the time. */
  touch(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(
      () => this.controller.abort(new SignalboxError('timeout', `There was no answer for ${this.ms} ms`)),
      this.ms,
    );
  }

  /** The caller's signal keeps its effect. */
  stopClock(): void {
    clearTimeout(this.timer);
  }

  end(): void {
    this.stopClock();
    this.caller?.removeEventListener('abort', this.leave);
  }

  /** Why a request failed: what ended it here, the gateway's own error, or the connection. */
  explain(thrown: unknown): unknown {
    if (this.signal.aborted) return this.signal.reason;
    if (thrown instanceof SignalboxError) return thrown;
    return new SignalboxError('connection_failed', 'The gateway could not be reached, or the connection broke', {
      cause: thrown,
    });
  }
}

function isRepeatable({ method, body, idempotencyKey }: ApiRequest): boolean {
  if (body instanceof ReadableStream) return false;
  return method !== 'POST' || idempotencyKey !== undefined;
}

/** Whether the same request may succeed soon. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof SignalboxError)) return false;
  if (error.code === 'connection_failed') return true;
  const { status, retryAfterMs } = error;
  return (status === 429 || status === 503) && (retryAfterMs ?? 0) <= longestRetryAfterMs;
}

/** Grows from half a second, and varies, so that clients of a restarted gateway do not return all at once. */
export function pauseMs(attempt: number, error: unknown): number {
  const grown = Math.min(250 * 2 ** attempt, longestPauseMs) * (0.75 + Math.random() / 4);
  return Math.max(grown, error instanceof SignalboxError ? (error.retryAfterMs ?? 0) : 0);
}

/** @throws the signal's reason */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave);
      resolve();
    }, ms);
    signal?.addEventListener('abort', leave, { once: true });
  });
}

/** Not `crypto.randomUUID`: browsers have that only on pages with TLS. */
export function makeKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
