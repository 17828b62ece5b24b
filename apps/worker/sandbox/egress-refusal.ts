// Results of connections to the egress proxy: one word for the metric, and one line for the program if it is refused.
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** `connected` is followed by `idle` if nothing was sent either way for too long; all others are final. */
export const egressOutcomes = [
  'connected',
  'not_allowed',
  'private_address',
  'unauthorized',
  'malformed',
  'header_bytes',
  'header_time',
  'connections',
  'unreachable',
  'connect_time',
  'idle',
] as const;

export type EgressOutcome = (typeof egressOutcomes)[number];

export class EgressRefusal extends Error {
  constructor(
    readonly status: number,
    readonly outcome: EgressOutcome,
    /** Shown to the program, so without the address that a name resolved to. */
    message: string,
  ) {
    super(message);
  }
}

const headersOf = ({ status, message }: EgressRefusal): Record<string, string> => ({
  'content-type': 'text/plain; charset=utf-8',
  'content-length': String(Buffer.byteLength(message) + 1),
  connection: 'close',
  ...(status === 407 ? { 'proxy-authenticate': 'Basic realm="signalbox"' } : {}),
});

export function answerPlainly(response: ServerResponse, refusal: EgressRefusal): void {
  response.writeHead(refusal.status, headersOf(refusal)).end(`${refusal.message}\n`);
}

/** Answers input that is not an HTTP exchange: CONNECT, and unreadable requests. */
export function answerBare(socket: Socket, refusal: EgressRefusal): void {
  const { status, message } = refusal;
  const lines = Object.entries(headersOf(refusal)).map((each) => each.join(': '));
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${message}\n`);
  socket.destroySoon();
}
