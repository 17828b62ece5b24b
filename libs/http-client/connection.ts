// One connection of undici's. A reader that falls behind holds it at the socket: undici's own pause must not be used, for
// it ends the process (an assertion in a socket's event) when the peer closes meanwhile. It knows no deadlines.
import type { Socket } from 'node:net';
import { buildConnector, Client } from 'undici';

/** What a server may send without a byte of a body: status lines, headers, answers 1xx, extensions of chunks. */
const noiseBytes = 256 * 1024;
export const noiseCode = 'HTTP_NOISE';

/** Connects when it is used, again after each close. */
export class Connection {
  readonly client: Client;
  /** Why the socket was lost: undici takes a reset for the end of a body that lasts until the connection closes. */
  broken: Error | undefined;
  /** Read since the exchange began, or since the last piece of its body. */
  unheardBytes = 0;
  private socket?: Socket;
  private held = false;

  constructor(origin: string, keepAliveMs: number, connect: buildConnector.connector) {
    this.client = new Client(origin, {
      connect: (options, callback) => connect(options, (...result) => this.connected(result, callback)),
      // The deadlines of an exchange know what is being waited for; undici's own do not.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keepAliveMs,
    });
  }

  /** Nothing more is read from the socket: its buffer and the network's fill up, which slows the peer. */
  hold(): void {
    this.held = true;
  }

  /** Not to be called from within a handler of undici's while an answer is under way. */
  release(): void {
    if (!this.held) return;
    this.held = false;
    // Whoever reads the socket is told to look again: its own event came and went while it was held.
    if (this.socket?.destroyed === false) this.socket.emit('readable');
  }

  private connected(result: Parameters<buildConnector.Callback>, callback: buildConnector.Callback): void {
    const [error, socket] = result;
    if (error !== null) return callback(error, null);
    const read = socket.read.bind(socket);
    // `read(0)` takes nothing; streams use it themselves, to find the end among others.
    socket.read = (size?: number) => (this.held && size !== 0 ? null : this.counted(read(size) as Buffer | null));
    // Before undici listens: it ends the answer in this event.
    socket.once('error', (lost) => (this.broken = lost));
    this.socket = socket;
    this.broken = undefined;
    this.held = false;
    this.unheardBytes = 0;
    callback(null, socket);
  }

  private counted(bytes: Buffer | null): Buffer | null {
    if (bytes === null) return null;
    this.unheardBytes += bytes.length;
    if (this.unheardBytes <= noiseBytes) return bytes;
    this.socket?.destroy(Object.assign(new Error('The server sends no answer'), { code: noiseCode }));
    return null;
  }
}
