// One request and its answer on a lent connection: deadlines, bounds, and a reader that slows the upstream when it is
// slow itself. Whatever goes wrong is told as an AppError; nothing is retried and no meaning is read into the bytes.
import type { Dispatcher } from 'undici';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Connection } from './connections.js';
import type { TransportOptions, UpstreamAnswer, UpstreamCall } from './transport.js';

/** More than this read ahead holds the connection. */
const readAheadBytes = 64 * 1024;
const drainBytes = 64 * 1024;
const drainMs = 1_000;

export interface ExchangeEnds {
  /** Nobody waits for the answer any more. */
  onClose(): void;
  /** The connection is free. */
  onOver(connection: Connection): void;
}

export class Exchange implements UpstreamAnswer, Dispatcher.DispatchHandler {
  status = 0;
  headers: UpstreamAnswer['headers'] = {};
  private controller?: Dispatcher.DispatchController;
  private stopped?: AppError;
  private broken?: Error;
  private over = false;
  private closed = false;
  private pieces: Uint8Array[] = [];
  private aheadBytes = 0;
  /** Read by the caller. */
  private bytes = 0;
  private wake?: () => void;
  private waiting = true;
  private silence: NodeJS.Timeout;
  private readonly end: NodeJS.Timeout;

  constructor(
    private readonly options: TransportOptions,
    private readonly call: UpstreamCall,
    private readonly connection: Connection,
    private readonly ends: ExchangeEnds,
  ) {
    const { first_byte } = options.timeoutMs;
    this.silence = setTimeout(() => this.fail(this.timeout(`sent no first byte in ${first_byte} ms`)), first_byte);
    const left = Math.min(Math.max(0, call.deadline - steadyNow()), 2 ** 31 - 1);
    this.end = setTimeout(() => this.fail(this.timeout('was still answering at the deadline')), left);
    if (call.signal.aborted) this.cancel();
    else call.signal.addEventListener('abort', this.cancel, { once: true });
  }

  /** Resolves with the first byte of the body, or its end. */
  async begin(request: Dispatcher.DispatchOptions): Promise<void> {
    if (this.stopped !== undefined) {
      this.leave();
      throw this.stopped;
    }
    this.connection.client.dispatch(request, this);
    await this.arrival();
    if (this.stopped !== undefined) throw this.stopped;
    if (this.broken !== undefined && this.pieces.length === 0) throw this.failure(this.broken);
    clearTimeout(this.silence);
    const { idle } = this.options.timeoutMs;
    this.waiting = false;
    this.silence = setTimeout(() => {
      // A slow reader is not a silent upstream.
      if (this.waiting) this.fail(this.timeout(`was silent for ${idle} ms`));
    }, idle);
  }

  async read(patienceMs?: number): Promise<Uint8Array | undefined> {
    if (this.pieces.length === 0 && !this.over && this.stopped === undefined) {
      this.waiting = true;
      this.silence.refresh();
      await this.arrival(patienceMs);
      this.waiting = false;
    }
    if (this.stopped !== undefined) throw this.stopped;
    if (this.pieces.length > 0) return this.taken();
    if (!this.over) throw this.timeout(`was silent for ${patienceMs} ms`);
    if (this.broken !== undefined) throw this.failure(this.broken);
    return undefined;
  }

  close(drain = false): void {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.silence);
    clearTimeout(this.end);
    this.call.signal.removeEventListener('abort', this.cancel);
    this.ends.onClose();
    if (this.over) return;
    if (drain && this.stopped === undefined) this.drain();
    else this.cut();
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

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.stopped !== undefined || this.closed) this.cut();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: UpstreamAnswer['headers']) {
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.pieces.push(bytes);
    this.aheadBytes += bytes.length;
    if (!this.closed) {
      if (this.aheadBytes >= readAheadBytes) this.connection.hold();
      return this.wake?.();
    }
    this.pieces = [];
    if (this.aheadBytes > drainBytes) this.cut();
  }

  onResponseEnd(): void {
    this.leave();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.broken = error;
    this.leave();
  }

  /** A piece, the end, a failure or the end of the patience. */
  private async arrival(patienceMs?: number): Promise<void> {
    if (this.pieces.length > 0 || this.over || this.stopped !== undefined) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      if (patienceMs !== undefined) timer = setTimeout(resolve, patienceMs);
    });
    delete this.wake;
    clearTimeout(timer);
  }

  /** All that is there, as one piece. */
  private taken(): Uint8Array {
    const taken = this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces);
    this.pieces = [];
    this.aheadBytes = 0;
    if (!this.over) this.connection.release();
    this.bytes += taken.length;
    const { maxResponseBytes, provider } = this.options;
    if (this.bytes > maxResponseBytes) {
      const message = `The answer of model provider '${provider}' is larger than ${maxResponseBytes} bytes`;
      throw new AppError('model_bad_response', message);
    }
    return taken;
  }

  /** What is left, usually only the end itself, is read, so that the connection is free again; else it is cut. */
  private drain(): void {
    this.pieces = [];
    setTimeout(() => this.cut(), drainMs).unref();
    this.connection.release();
  }

  private cut(): void {
    if (!this.over) this.controller?.abort(this.stopped ?? new AppError('cancelled', 'The answer was left'));
  }

  private leave(): void {
    if (this.over) return;
    this.over = true;
    this.ends.onOver(this.connection);
    this.wake?.();
  }

  private readonly cancel = (): void => {
    const reason: unknown = this.call.signal.reason;
    this.fail(reason instanceof AppError ? reason : new AppError('cancelled', 'The model call was cancelled'));
  };

  private fail(error: AppError): void {
    this.stopped ??= error;
    this.cut();
    this.wake?.();
  }

  private timeout(what: string): AppError {
    return new AppError('model_timeout', `Model provider '${this.options.provider}' ${what}`);
  }
}
