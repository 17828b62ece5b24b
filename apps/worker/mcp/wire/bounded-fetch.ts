// The HTTP under MCP's HTTP transports: bounds on connecting, on the whole of an exchange and on what is read at all.
// Follows no redirect (the transport follows those within the server's own origin), decodes no compression. On Node's
// own client for the reason given in builtin/guarded-request.ts.
import { setMaxListeners } from 'node:events';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { AppError } from '#libs/schemas/errors.js';
import { EventLines, type EventBound } from './event-lines.js';
import { FloodGate } from './flood-gate.js';
import { tooLargePhrase } from './guarded-transport.js';
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
const agentOptions = { keepAlive: true, timeout: 4_000 };
const bodiless = new Set([204, 304]);

export class BoundedFetch {
  /** Called when more arrives than can be accepted: read nothing more from this server. */
  onFlood?: (failure: AppError) => void;
  private readonly http = new HttpAgent(agentOptions);
  private readonly https = new HttpsAgent(agentOptions);
  private readonly noise = new FloodGate();
  private exchanges = 0;
  private failure?: AppError;

  constructor(private readonly bounds: FetchBounds) {}

  /** Goes without its object. */
  readonly fetch = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input);
    if (!/^https?:$/.test(url.protocol)) throw new AppError('tool_unavailable', 'Only http and https are spoken');
    if (this.exchanges >= this.bounds.maxExchanges) {
      this.bounds.onBound?.('exchanges');
      throw refused('leaves too many requests open');
    }
    return this.exchange(url, init);
  };

  /** Closes the idle connections. */
  close(): void {
    this.http.destroy();
    this.https.destroy();
  }

  private exchange(url: URL, init: RequestInit): Promise<Response> {
    const method = init.method ?? 'GET';
    const headers = Object.fromEntries(new Headers(init.headers ?? {}));
    const tellsNews = method === 'GET' || headers['mcp-method'] === 'subscriptions/listen';
    const options = { method, headers: { ...headers, 'accept-encoding': 'identity' } };
    return new Promise<Response>((resolve, reject) => {
      const request =
        url.protocol === 'https:'
          ? httpsRequest(url, { ...options, agent: this.https })
          : httpRequest(url, { ...options, agent: this.http });
      this.exchanges += 1;
      // Not AbortSignal.any() of AbortSignal.timeout(): Node 20 garbage-collects it, and the timeout never fires.
      const over = new AbortController();
      const { signal } = over;
      const given = init.signal ?? undefined;
      const follow = () => over.abort(given?.reason);
      const tooLong = () => over.abort(new DOMException('The exchange took too long', 'TimeoutError'));
      const limit = tellsNews ? undefined : setTimeout(tooLong, this.bounds.totalMs);
      // One signal may be shared by all exchanges of a connection.
      if (given !== undefined) setMaxListeners(0, given);
      given?.addEventListener('abort', follow, { once: true });
      if (given?.aborted === true) follow();
      // Without an error, and not by its own `signal`: if the answer has just ended, Node has removed its listener from
      // the socket, and an error there would end the process. Waiting code still gets the signal's reason.
      const abort = () => request.destroy();
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      const slow = () => request.destroy(refused('did not accept a connection in time'));
      const late = setTimeout(slow, this.bounds.connectMs);
      request.once('socket', (socket) => {
        if (!socket.connecting) clearTimeout(late);
        else socket.once('connect', () => clearTimeout(late));
      });
      request.once('close', () => {
        this.exchanges -= 1;
        // If it ended without an answer and without an error: for example after 101.
        reject(signal.aborted ? abortReason(signal) : readable({ code: 'ECONNRESET' }));
        clearTimeout(late);
        clearTimeout(limit);
        given?.removeEventListener('abort', follow);
        signal.removeEventListener('abort', abort);
      });
      // Stays for errors after the answer has begun: its reader sees them as well.
      request.on('error', (error) => reject(signal.aborted ? abortReason(signal) : readable(error)));
      // Informational answers (1xx).
      request.on('information', () => void (this.noise.take(0) || request.destroy(this.flooded())));
      request.once('response', (answer) => {
        try {
          resolve(this.response(answer, method, signal));
        } catch (error) {
          request.destroy();
          reject(error);
        }
      });
      request.end(init.body ?? undefined);
    });
  }

  private response(answer: IncomingMessage, method: string, signal: AbortSignal): Response {
    // Its reader gets the error; without a reader it can be ignored.
    answer.on('error', () => undefined);
    const headers = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) {
      for (const each of [value].flat()) if (each !== undefined) headers.append(name, each);
    }
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 599) throw new AppError('tool_failed', 'The tool server sent no HTTP status');
    const events = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');
    if (bodiless.has(status)) {
      answer.resume();
      return new Response(null, { status, headers });
    }
    // An answer that is not a stream of events carries no notifications, and would be requested again and again.
    if (status === 205 || (status === 200 && method === 'GET' && !events)) {
      answer.destroy();
      return new Response(null, { status, headers });
    }
    const body = Readable.from(this.read(answer, events, signal), { objectMode: false, highWaterMark: 64 * 1024 });
    return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, { status, headers });
  }

  /** A stream of events is bounded by the event, and in how much of it is no message. */
  private async *read(answer: IncomingMessage, events: boolean, signal: AbortSignal): AsyncGenerator<Buffer> {
    const { maxBytes, onBound } = this.bounds;
    const bounds = events ? new EventLines(maxBytes, this.noise) : new BodyBounds(maxBytes);
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        const bound = bounds.feed(chunk);
        if (bound === 'noise') throw this.flooded();
        if (bound !== undefined) {
          onBound?.(bound);
          throw tooLarge(bound, maxBytes);
        }
        yield chunk;
      }
    } catch (error) {
      // A flood ends the connection, and with it the signal.
      throw signal.aborted && !(error instanceof AppError) ? abortReason(signal) : readable(error);
    }
  }

  private flooded(): AppError {
    if (this.failure === undefined) {
      this.failure = new AppError('tool_crashed', 'The tool server wrote more to its output than can be taken');
      this.bounds.onBound?.('noise');
      this.onFlood?.(this.failure);
    }
    return this.failure;
  }
}

class BodyBounds {
  private readonly values = new ValueCounter();
  private bytes = 0;

  constructor(private readonly maxBytes: number) {}

  feed(chunk: Buffer): EventBound | undefined {
    this.bytes += chunk.length;
    if (this.bytes > this.maxBytes) return 'message_bytes';
    return this.values.feed(chunk) ? undefined : 'message_values';
  }
}

const tooLarge = (bound: Exclude<EventBound, 'noise'>, maxBytes: number) => {
  const read = bound === 'message_bytes' ? `${maxBytes} bytes` : `${maxValues} values`;
  return new AppError('result_too_large', `The answer of the tool server is ${tooLargePhrase} (${read})`);
};
const refused = (what: string) => new AppError('tool_unavailable', `The tool server ${what}`);

/** What the reader may see: a code, no address. */
function readable(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const cause = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const code = (cause as NodeJS.ErrnoException | undefined)?.code ?? 'no connection';
  if (code.startsWith('HPE_')) {
    return new AppError('invalid_tool_result', `The tool server does not answer in HTTP (${code})`, { cause: error });
  }
  const broken = ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code);
  return broken
    ? new AppError('tool_crashed', `The connection to the tool server broke (${code})`, { cause: error })
    : new AppError('tool_unavailable', `The tool server cannot be reached (${code})`, { cause: error });
}

function abortReason(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  const late = reason instanceof DOMException && reason.name === 'TimeoutError';
  if (late) return new AppError('tool_timeout', 'The tool server did not answer in time');
  return reason instanceof Error ? reason : new Error('aborted');
}
