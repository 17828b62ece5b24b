// One request and its answer on a borrowed connection, with deadlines and bounds. The body is pushed to its reader, and the
// connection pauses while the reader is slow. Failures become the caller's errors. Nothing is retried, and the bytes are
// not interpreted.
import type { Dispatcher } from 'undici';
import type { Flow } from '#libs/concurrency/flow.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AppError } from '#libs/schemas/errors.js';
import { type Connection, noiseCode } from './connection.js';
import type { HttpClientOptions, HttpAnswer, HttpCall, HttpFailure } from './outgoing.js';

/** The connection pauses when more than this is buffered. */
const readAheadBytes = 64 * 1024;
const drainBytes = 64 * 1024;
const drainMs = 1_000;
const longestTimerMs = 2 ** 31 - 1;
/** Error codes of the parser and of undici's own checks. */
const notHttp = /^(?:HPE_|UND_ERR_HEADERS_OVERFLOW$|ERR_ASSERTION$)/;
/** Error codes of an established connection. */
const lost = /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|UND_ERR_DESTROYED)$/;

interface Reader {
  take(bytes: Uint8Array): Flow;
  resolve(): void;
  reject(error: unknown): void;
}

/** The client that started the exchange. */
export interface ExchangeClient {
  readonly options: HttpClientOptions;
  /** Nobody waits for the answer any more. */
  left(weight: number): void;
  /** The connection is free. */
  takeBack(connection: Connection): void;
}

const once = { once: true };
/** Shared and never added to: usually one piece is all that there is at a time. */
const none: Uint8Array[] = [];

export class Exchange implements HttpAnswer, Dispatcher.DispatchHandler {
  status = 0;
  headers: HttpAnswer['headers'] = {};
  private readonly options: HttpClientOptions;
  private controller: Dispatcher.DispatchController | undefined;
  private stopped: Error | undefined;
  private broken: Error | undefined;
  /** The connection has been returned. */
  private over = false;
  private closed = false;
  private pieces: Uint8Array[] = none;
  private aheadBytes = 0;
  /** Bytes given to the reader. */
  private bytes = 0;
  /** The caller that waits for the answer to open. */
  private opening: { resolve(answer: HttpAnswer): void; reject(error: Error): void } | undefined;
  private reader: Reader | undefined;
  /** The reader asked for a pause, during which the server's silence does not count. */
  private paused = false;
  private opened = false;
  /** In performance.now() time, like all times here. */
  private readonly deadline: number;
  private silentAt: number;
  private hurriedAt = Infinity;
  /** One timer for all bounds. When a bound moves later, the timer is only adjusted after it fires. */
  private timer: NodeJS.Timeout | undefined;
  private timerAt = Infinity;

  constructor(
    private readonly client: ExchangeClient,
    private readonly call: HttpCall,
    private readonly connection: Connection,
    private readonly weight: number,
  ) {
    this.options = client.options;
    const now = performance.now();
    this.deadline = now + Math.max(0, call.deadline - steadyNow());
    this.silentAt = now + this.options.timeoutMs.first_byte;
    this.arm(now);
    if (call.signal.aborted) this.handleEvent();
    else call.signal.addEventListener('abort', this, once);
  }

  /** Resolves with the exchange when the answer opens, else closes it. @throws what `failure` returns */
  begin(request: Dispatcher.DispatchOptions): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      this.opening = { resolve, reject };
      if (this.stopped !== undefined) return this.leave();
      try {
        this.connection.client.dispatch(request, this);
      } catch (error) {
        this.refuse(error);
      }
    });
  }

  /** The answer has begun, or will not. */
  private open(): void {
    const { opening, stopped, broken } = this;
    if (opening === undefined) return;
    if (stopped !== undefined) return this.refuse(stopped);
    if (broken !== undefined && this.pieces.length === 0) return this.refuse(broken);
    this.opening = undefined;
    this.opened = true;
    this.listen();
    opening.resolve(this);
  }

  private refuse(error: unknown): void {
    const { opening } = this;
    this.opening = undefined;
    this.close();
    opening?.reject(this.failure(error));
  }

  read(take: (bytes: Uint8Array) => Flow): Promise<void> {
    return new Promise((resolve, reject) => {
      this.reader = { take, resolve, reject };
      this.flow();
      this.readOn();
    });
  }

  hurry(ms: number): void {
    const now = performance.now();
    this.hurriedAt = now + ms;
    this.arm(now);
  }

  close(drain = false): void {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.timer);
    this.call.signal.removeEventListener('abort', this);
    this.client.left(this.weight);
    if (this.over) return;
    if (drain && this.stopped === undefined) this.drain();
    else this.cut();
  }

  /** Converts anything thrown here to the caller's error. */
  failure(error: unknown): Error {
    if (this.stopped !== undefined) return this.stopped;
    if (error instanceof AppError) return error;
    const { code, name } = error as { code?: unknown; name?: unknown };
    // undici's parser errors have no code.
    const known = typeof code === 'string' ? code : name === 'HTTPParserError' ? 'HPE_INVALID' : '';
    const [kind, what] = this.meaning(known);
    return this.options.toError({ kind, what: known === '' ? what : `${what} (${known})`, cause: error });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    this.connection.unheardBytes = 0;
    if (this.stopped !== undefined || this.closed) this.cut();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: HttpAnswer['headers']) {
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    if (this.options.opensAt === 'headers') this.open();
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.connection.unheardBytes = 0;
    if (this.pieces.length === 0) this.pieces = [bytes];
    else this.pieces.push(bytes);
    this.aheadBytes += bytes.length;
    if (this.closed) {
      this.pieces = none;
      if (this.aheadBytes > drainBytes) this.cut();
      return;
    }
    if (this.reader !== undefined) return this.flow();
    if (this.aheadBytes >= readAheadBytes) this.connection.hold();
    this.open();
  }

  onResponseEnd(): void {
    this.broken = this.connection.broken;
    this.leave();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.broken = error;
    this.leave();
  }

  /** Gives the buffered bytes to the reader unless it asked for a pause, then the end if that has arrived. */
  private flow(): void {
    const { reader } = this;
    if (reader === undefined || this.paused) return;
    if (this.stopped !== undefined) return this.settle(this.stopped);
    if (this.pieces.length > 0) {
      let flow: Flow;
      try {
        flow = reader.take(this.taken());
      } catch (error) {
        return this.settle(error);
      }
      if (flow === 'enough') return this.settle();
      if (flow !== undefined) return this.pause(flow);
    }
    if (!this.over) return this.listen();
    this.settle(this.broken === undefined ? undefined : this.failure(this.broken));
  }

  private pause(flow: Promise<'enough' | undefined>): void {
    this.paused = true;
    // After its end, the connection may already serve another exchange.
    if (!this.over) this.connection.hold();
    flow.then(
      (said) => {
        this.paused = false;
        if (this.reader === undefined) return;
        if (said === 'enough') return this.settle();
        this.flow();
        this.readOn();
      },
      (error: unknown) => {
        this.paused = false;
        this.settle(error);
      },
    );
  }

  /** Must not be called inside an undici handler. */
  private readOn(): void {
    if (!this.paused && !this.over) this.connection.release();
  }

  /** Ends the reader's call of `read`. */
  private settle(error?: unknown): void {
    const { reader } = this;
    this.reader = undefined;
    if (error === undefined) reader?.resolve();
    else reader?.reject(error);
  }

  /** All buffered bytes, as one piece. */
  private taken(): Uint8Array {
    const taken = this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces);
    this.pieces = none;
    this.aheadBytes = 0;
    this.bytes += taken.length;
    const { maxBytes, toError } = this.options;
    if (this.bytes > maxBytes) throw toError({ kind: 'too_large', what: `sent more than ${maxBytes} bytes` });
    return taken;
  }

  /** Restarts the idle time: the server has just sent something. */
  private listen(): void {
    const now = performance.now();
    this.silentAt = now + this.options.timeoutMs.idle;
    this.arm(now);
  }

  private arm(now: number): void {
    const due = this.paused ? this.deadline : Math.min(this.deadline, this.silentAt, this.hurriedAt);
    if (due >= this.timerAt) return;
    clearTimeout(this.timer);
    this.timerAt = due;
    this.timer = setTimeout(this.look, Math.min(Math.max(1, Math.ceil(due - now)), longestTimerMs));
  }

  private readonly look = (): void => {
    const now = performance.now() + 1;
    this.timerAt = Infinity;
    const { first_byte, idle } = this.options.timeoutMs;
    if (now >= this.deadline) return this.fail('timeout', 'was still answering at the deadline');
    if (!this.paused && now >= this.hurriedAt) return this.fail('timeout', 'kept its answer open');
    if (!this.paused && now >= this.silentAt) {
      return this.fail('timeout', this.opened ? `was silent for ${idle} ms` : `sent no first byte in ${first_byte} ms`);
    }
    this.arm(now);
  };

  /** Reads the rest, usually only the end, so that the connection can be reused; otherwise the connection is cut. */
  private drain(): void {
    this.pieces = none;
    setTimeout(() => this.cut(), drainMs).unref();
    this.connection.release();
  }

  private cut(): void {
    if (!this.over) this.controller?.abort(this.stopped ?? new Error('The answer is no longer wanted'));
  }

  private leave(): void {
    if (this.over) return;
    this.over = true;
    this.client.takeBack(this.connection);
    this.open();
    this.flow();
  }

  /** The signal aborts. */
  handleEvent(): void {
    this.fail('cancelled', 'was left', this.call.signal.reason);
  }

  private fail(kind: HttpFailure['kind'], what: string, cause?: unknown): void {
    this.stopped ??= this.options.toError({ kind, what, cause });
    this.cut();
    this.open();
    this.settle(this.stopped);
  }

  private meaning(code: string): [HttpFailure['kind'], string] {
    const { connect } = this.options.timeoutMs;
    if (code === 'UND_ERR_CONNECT_TIMEOUT') return ['connect', `did not accept a connection within ${connect} ms`];
    if (code === noiseCode) return ['noise', 'sent too many bytes without an answer'];
    if (this.bytes > 0) return ['cut', 'cut its answer short'];
    if (notHttp.test(code)) return ['not_http', 'does not speak HTTP'];
    const there = this.status !== 0 || lost.test(code);
    return there ? ['lost', 'cut the connection before its answer began'] : ['away', 'cannot be reached'];
  }
}
