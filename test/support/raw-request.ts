// Test support: requests of hostile clients: paths not normalised, headers and bytes sent unchanged.
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';

export interface RawRequest {
  method?: string;
  /** Sent unchanged, not normalised. */
  path: string;
  /** null omits a header. */
  headers?: Record<string, string | null>;
  body?: Buffer | string;
}

export interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

export function rawRequest(origin: string, { method = 'POST', path, headers, body }: RawRequest): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  const given: Record<string, string> = { 'content-type': 'application/json' };
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (value === null) delete given[name];
    else given[name] = value;
  }
  return new Promise((resolve, reject) => {
    const options = { hostname, port, method, path, headers: given, agent: false as const };
    const request = httpRequest(options, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (bytes: Buffer) => pieces.push(bytes));
      answer.once('error', reject);
      answer.once('end', () => {
        clearTimeout(timer);
        const text = Buffer.concat(pieces).toString('utf8');
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
      });
    });
    const timer = setTimeout(() => request.destroy(new Error(`no answer to ${method} ${path.slice(0, 80)}`)), 20_000);
    request.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    request.end(body);
  });
}

export interface RawConversation {
  text: string;
  /** The peer closed the connection; false: the wait ended after `waitMs`. */
  ended: boolean;
}

/** Writes the pieces to a socket, `everyMs` apart, and reads until the peer closes or `waitMs` have passed. */
export function rawBytes(
  origin: string,
  pieces: readonly (string | Buffer)[],
  { waitMs = 10_000, everyMs = 0, until }: { waitMs?: number; everyMs?: number; until?: RegExp } = {},
): Promise<RawConversation> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let text = '';
    let at = 0;
    const finish = (ended: boolean) => {
      clearTimeout(timer);
      clearInterval(pace);
      socket.destroy();
      resolve({ text, ended });
    };
    const timer = setTimeout(() => finish(false), waitMs);
    const writeNext = () => {
      const piece = pieces[at++];
      if (piece === undefined) clearInterval(pace);
      else socket.write(piece);
    };
    const pace = setInterval(writeNext, Math.max(1, everyMs));
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      if (until?.test(text) === true) finish(true);
    });
    // A reset counts as an end; what was read before it is kept.
    socket.on('error', () => finish(true));
    socket.on('close', () => finish(true));
  });
}
