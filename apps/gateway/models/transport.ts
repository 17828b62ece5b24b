// HTTP to one upstream: a connection pool, deadlines for connecting, the first byte and silence, bounds on size and on
// calls at once. It retries nothing and reads no meaning into an answer; whoever opens an answer closes it.
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import type { ProviderConfig } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';

export interface TransportOptions {
  provider: string;
  baseUrl: string;
  /** Sent with every request. */
  headers: Record<string, string>;
  timeoutMs: ProviderConfig['timeout_ms'];
  maxConcurrency: number;
  maxResponseBytes: number;
}

export interface UpstreamRequest {
  method: 'GET' | 'POST';
  /** Below the base address: `/chat/completions`. */
  path: string;
  body?: string;
  headers?: Record<string, string>;
}

export interface UpstreamCall {
  signal: AbortSignal;
  /** Epoch ms. */
  deadline: number;
}

export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  /**
   * The next bytes; undefined at the end of a complete body.
   * @throws AppError model_stream_cut, model_timeout, model_bad_response (too large), cancelled
   */
  read(): Promise<Uint8Array | undefined>;
  /** Ends the exchange. `drain`: the answer is complete, so the connection may be used again. */
  close(drain?: boolean): void;
}

const drainBytes = 64 * 1024;
const drainMs = 1_000;

export class Transport {
  private readonly pool: Pool;
  private readonly path: string;
  private readonly search: string;
  private underWay = 0;

  constructor(private readonly options: TransportOptions) {
    const url = new URL(options.baseUrl);
    this.path = url.pathname.replace(/\/+$/, '');
    this.search = url.search;
    this.pool = new Pool(url.origin, {
      connect: { timeout: options.timeoutMs.connect },
      // The deadlines below know what the answer is being waited for; undici's own do not.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 15_000,
    });
  }

  /**
   * Resolves when the first byte of the body is there (or the body is empty).
   * @throws AppError model_timeout, model_error (cannot be reached), concurrency_exceeded, cancelled
   */
  async open(request: UpstreamRequest, call: UpstreamCall): Promise<UpstreamAnswer> {
    const { provider, maxConcurrency } = this.options;
    if (this.underWay >= maxConcurrency) {
      const message = `Model provider '${provider}' has ${maxConcurrency} calls under way, its maximum`;
      throw new AppError('concurrency_exceeded', message, { retryAfterSeconds: 1 });
    }
    this.underWay += 1;
    const exchange = new Exchange(this.options, call, () => (this.underWay -= 1));
    try {
      const response = await this.pool.request({
        method: request.method,
        path: `${this.path}${request.path}${this.search}`,
        headers: { ...this.options.headers, ...request.headers },
        body: request.body ?? null,
        signal: exchange.signal,
      });
      await exchange.begin(response);
      return exchange;
    } catch (error) {
      const failure = exchange.failure(error);
      exchange.close();
      throw failure;
    }
  }

  /** Calls under way are cut. */
  async close(): Promise<void> {
    await this.pool.destroy();
  }
}

class Exchange implements UpstreamAnswer {
  status = 0;
  headers: UpstreamAnswer['headers'] = {};
  private readonly stop = new AbortController();
  private stopped?: AppError;
  private body?: Dispatcher.ResponseData['body'];
  private iterator?: NodeJS.AsyncIterator<Uint8Array>;
  private first?: IteratorResult<Uint8Array>;
  private bytes = 0;
  private waiting = true;
  private closed = false;
  private silence: NodeJS.Timeout;
  private readonly end: NodeJS.Timeout;

  constructor(
    private readonly options: TransportOptions,
    private readonly call: UpstreamCall,
    private readonly onClose: () => void,
  ) {
    const { first_byte } = options.timeoutMs;
    this.silence = setTimeout(() => this.fail(this.timeout(`sent no first byte in ${first_byte} ms`)), first_byte);
    const left = Math.min(Math.max(0, call.deadline - Date.now()), 2 ** 31 - 1);
    this.end = setTimeout(() => this.fail(this.timeout('was still answering at the deadline')), left);
    if (call.signal.aborted) this.cancel();
    else call.signal.addEventListener('abort', this.cancel, { once: true });
  }

  get signal(): AbortSignal {
    return this.stop.signal;
  }

  async begin(response: Dispatcher.ResponseData): Promise<void> {
    this.status = response.statusCode;
    this.headers = response.headers;
    this.body = response.body;
    // An abort may reach the body when nobody reads it: that is no crash.
    this.body.on('error', () => undefined);
    this.iterator = response.body[Symbol.asyncIterator]() as NodeJS.AsyncIterator<Uint8Array>;
    this.first = await this.iterator.next();
    clearTimeout(this.silence);
    const { idle } = this.options.timeoutMs;
    this.waiting = false;
    this.silence = setTimeout(() => {
      // A slow reader is not a silent upstream.
      if (this.waiting) this.fail(this.timeout(`was silent for ${idle} ms`));
    }, idle);
  }

  async read(): Promise<Uint8Array | undefined> {
    if (this.stopped !== undefined) throw this.stopped;
    let next = this.first;
    this.first = undefined;
    if (next === undefined) {
      this.waiting = true;
      this.silence.refresh();
      try {
        next = await this.iterator!.next();
      } catch (error) {
        throw this.failure(error);
      }
      this.waiting = false;
    }
    if (next.done === true) return undefined;
    this.bytes += next.value.length;
    const { maxResponseBytes, provider } = this.options;
    if (this.bytes > maxResponseBytes) {
      const message = `The answer of model provider '${provider}' is larger than ${maxResponseBytes} bytes`;
      throw new AppError('model_bad_response', message);
    }
    return next.value;
  }

  close(drain = false): void {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.silence);
    clearTimeout(this.end);
    this.call.signal.removeEventListener('abort', this.cancel);
    this.onClose();
    const { body } = this;
    if (drain && body !== undefined && this.stopped === undefined) {
      // Destroyed without a stop of ours: read to its end, and its connection is free already.
      if (!body.destroyed) void this.drain(body);
    } else {
      this.stop.abort();
      body?.destroy();
    }
  }

  /** Reads what is left, usually only the end itself, so that the connection is free again; else it is cut. */
  private async drain(body: Dispatcher.ResponseData['body']): Promise<void> {
    const timer = setTimeout(() => body.destroy(), drainMs).unref();
    try {
      for (let left = drainBytes; left > 0;) {
        const next = await this.iterator!.next();
        if (next.done === true) return;
        left -= next.value.length;
      }
      body.destroy();
    } catch {
      // It was cut: then there is nothing to use again.
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whatever was thrown here, as what it means. */
  failure(error: unknown): AppError {
    if (this.stopped !== undefined) return this.stopped;
    if (error instanceof AppError) return error;
    const { provider, timeoutMs } = this.options;
    const code = (error as { code?: unknown }).code;
    const why = typeof code === 'string' ? ` (${code})` : '';
    if (code === 'UND_ERR_CONNECT_TIMEOUT') return this.timeout(`took no connection in ${timeoutMs.connect} ms`);
    if (this.status !== 0 && this.bytes > 0) {
      return new AppError('model_stream_cut', `Model provider '${provider}' cut its answer short${why}`, {
        cause: error,
      });
    }
    const what = this.status === 0 ? 'cannot be reached' : 'cut the connection before its answer began';
    return new AppError('model_error', `Model provider '${provider}' ${what}${why}`, { cause: error });
  }

  private readonly cancel = (): void => {
    const reason: unknown = this.call.signal.reason;
    this.fail(reason instanceof AppError ? reason : new AppError('cancelled', 'The model call was cancelled'));
  };

  private fail(error: AppError): void {
    this.stopped ??= error;
    this.stop.abort(error);
    this.body?.destroy();
  }

  private timeout(what: string): AppError {
    return new AppError('model_timeout', `Model provider '${this.options.provider}' ${what}`);
  }
}
