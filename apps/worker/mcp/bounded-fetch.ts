// The HTTP under MCP's HTTP transports: bounds on connecting, on the whole of an exchange and on what is read at all.
// Follows no redirect (the transport follows those within the server's own origin), decodes no compression. On Node's
// own client for the reason given in builtin/guarded-request.ts.
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { AppError } from '#libs/schemas/errors.js';
import { tooLargePhrase } from './guarded-transport.js';
import type { OnServerBound } from './pool-events.js';
import { maxValues, ValueCounter } from './value-counter.js';

export interface FetchBounds {
  /** Of a body, or of one event where it is a stream of events. */
  maxBytes: number;
  connectMs: number;
  /** Of a whole exchange; a stream that the server keeps open to tell news (GET) has none. */
  totalMs: number;
  onBound?: OnServerBound;
}

export interface BoundedFetch {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Closes the connections that are kept. */
  close(): void;
}

export function boundedFetch(bounds: FetchBounds): BoundedFetch {
  const agents = { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) };
  return {
    fetch: async (input, init = {}) => {
      const url = new URL(input);
      const agent = agents[url.protocol as keyof typeof agents];
      if (agent === undefined) throw new AppError('tool_unavailable', 'Only http and https are spoken');
      return exchange(url, init, { bounds, agent });
    },
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function exchange(url: URL, init: RequestInit, { bounds, agent }: { bounds: FetchBounds; agent: HttpAgent }) {
  const method = init.method ?? 'GET';
  const signals = [init.signal ?? undefined, method === 'GET' ? undefined : AbortSignal.timeout(bounds.totalMs)];
  const signal = AbortSignal.any(signals.filter((each) => each !== undefined));
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise<Response>((resolve, reject) => {
    const headers = Object.fromEntries(new Headers(init.headers ?? {}));
    const request = send(url, { method, headers: { ...headers, 'accept-encoding': 'identity' }, agent });
    // Without an error, and not by its own `signal`: where the answer has just ended, Node has taken its listener off the
    // socket, and an error there would end the process. Who waits is told the signal's reason all the same.
    const abort = () => request.destroy();
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    const late = setTimeout(() => request.destroy(refused('did not accept a connection in time')), bounds.connectMs);
    request.once('socket', (socket) => {
      if (!socket.connecting) clearTimeout(late);
      else socket.once('connect', () => clearTimeout(late));
    });
    request.once('close', () => {
      clearTimeout(late);
      signal.removeEventListener('abort', abort);
    });
    // Stays for what comes after the answer has begun: its reader sees that as well.
    request.on('error', (error) => reject(signal.aborted ? abortReason(signal) : readable(error)));
    request.once('response', (answer) => {
      try {
        resolve(toResponse(answer, bounds, signal));
      } catch (error) {
        request.destroy();
        reject(error);
      }
    });
    request.end(init.body ?? undefined);
  });
}

const bodiless = new Set([204, 205, 304]);

function toResponse(answer: IncomingMessage, bounds: FetchBounds, signal: AbortSignal): Response {
  // Whoever reads it is told; while nobody does, its end is no news.
  answer.on('error', () => undefined);
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    for (const each of [value].flat()) if (each !== undefined) headers.append(name, each);
  }
  const status = answer.statusCode ?? 0;
  if (status < 200 || status > 599) throw new AppError('tool_failed', 'The tool server sent no HTTP status');
  if (bodiless.has(status)) {
    answer.resume();
    return new Response(null, { status, headers });
  }
  const events = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');
  const chunks = readableChunks(answer, signal);
  const body = Readable.from(bounded(chunks, bounds, events), { objectMode: false, highWaterMark: 64 * 1024 });
  return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, { status, headers });
}

async function* readableChunks(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* answer as AsyncIterable<Buffer>;
  } catch (error) {
    throw signal.aborted ? abortReason(signal) : readable(error);
  }
}

/** A stream of events is bounded by the event, which a blank line ends. */
async function* bounded(chunks: AsyncIterable<Buffer>, bounds: FetchBounds, events: boolean): AsyncGenerator<Buffer> {
  const { maxBytes, onBound } = bounds;
  const values = new ValueCounter();
  let bytes = 0;
  for await (const chunk of chunks) {
    const end = events
      ? Math.max(chunk.lastIndexOf('\n\n'), chunk.lastIndexOf('\r\n\r\n'), chunk.lastIndexOf('\r\r'))
      : -1;
    bytes = end === -1 ? bytes + chunk.length : chunk.length - end;
    if (bytes > maxBytes) {
      onBound?.('message_bytes');
      throw tooLarge(`${maxBytes} bytes`);
    }
    if (!values.feed(end === -1 ? chunk : chunk.subarray(0, end))) {
      onBound?.('message_values');
      throw tooLarge(`${maxValues} values`);
    }
    if (end !== -1) {
      values.restart();
      values.feed(chunk.subarray(end));
    }
    yield chunk;
  }
}

const tooLarge = (bound: string) =>
  new AppError('result_too_large', `The answer of the tool server is ${tooLargePhrase} (${bound})`);
const refused = (what: string) => new AppError('tool_unavailable', `The tool server ${what}`);

/** What the reader may see: a code, no address. */
function readable(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const cause = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const code = (cause as NodeJS.ErrnoException | undefined)?.code ?? 'no connection';
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
