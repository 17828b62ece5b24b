// One connection of undici's. A slow reader pauses it at the socket: undici's own pause must not be used, because it
// crashes the process (an assertion in a socket event) when the peer closes during the pause. Connections have no deadlines.
import type { Socket } from 'node:net';
import { buildConnector, Client } from 'undici';

/** Bytes that a server may send without any of a body: status lines, headers, 1xx answers, chunk extensions. */
const noiseBytes = 256 * 1024;
export const noiseCode = 'HTTP_NOISE';

/** Connects on first use, and again after each close. */
export class Connection {
  readonly client: Client;
  /** Why the socket was lost: undici mistakes a reset for the end of a body that has no length. */
  broken: Error | undefined;
  /** Bytes read since the exchange began, or since the last piece of its body. */
  unheardBytes = 0;
  private socket?: Socket;
  private held = false;

  constructor(origin: string, keepAliveMs: number, connect: buildConnector.connector) {
    this.client = new Client(origin, {
      connect: (options, callback) => connect(options, (...result) => this.connected(result, callback)),
      // The exchange has its own deadlines, which depend on what is awaited.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keepAliveMs,
    });
  }

  /** Stops reading from the socket: its buffer and the network's fill up, which slows the peer. */
  hold(): void {
    this.held = true;
  }

  /** Must not be called inside an undici handler during an answer. */
  release(): void {
    if (!this.held) return;
    this.held = false;
    // Makes the stream's reader look again: its event fired while the socket was paused.
    if (this.socket?.destroyed === false) this.socket.emit('readable');
  }

  private connected(result: Parameters<buildConnector.Callback>, callback: buildConnector.Callback): void {
    const [error, socket] = result;
    if (error !== null) return callback(error, null);
    const read = socket.read.bind(socket);
    // `read(0)` returns nothing; streams call it themselves, for example to detect the end.
    socket.read = (size?: number) => (this.held && size !== 0 ? null : this.counted(read(size) as Buffer | null));
    // Registered before undici's listener, which ends the answer on this event.
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
    this.socket?.destroy(
      Object.assign(new Error('The server sent too many bytes without an answer'), { code: noiseCode }),
    );
    return null;
  }
}
