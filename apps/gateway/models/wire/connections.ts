// The connections to one upstream, each lent to one exchange at a time. A reader that falls behind holds its connection
// at the socket: undici's own pause must not be used, for it ends the process (an assertion in a socket's event) when
// the peer closes meanwhile. It knows no deadlines and opens as many connections as are lent at once.
import type { Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';

export class Connections {
  private readonly idle: Connection[] = [];
  private readonly all = new Set<Connection>();
  private readonly connect: buildConnector.connector;

  constructor(
    private readonly origin: string,
    connectTimeoutMs: number,
  ) {
    this.connect = buildConnector({ timeout: connectTimeoutMs });
  }

  /** The one used last is lent first, so that those not needed close. */
  lend(): Connection {
    const idle = this.idle.pop();
    if (idle !== undefined) return idle;
    const connection = new Connection(this.origin, this.connect);
    this.all.add(connection);
    return connection;
  }

  /** Its exchange is over, in whichever way. */
  take(connection: Connection): void {
    connection.release();
    this.idle.push(connection);
  }

  /** Calls under way are cut. */
  async close(): Promise<void> {
    await Promise.all([...this.all].map((connection) => connection.client.destroy()));
  }
}

/** Connects when it is used, again after each close. */
export class Connection {
  readonly client: Dispatcher;
  private socket?: Socket;
  private held = false;

  constructor(origin: string, connect: buildConnector.connector) {
    this.client = new Client(origin, {
      connect: (options, callback) => connect(options, (...result) => this.connected(result, callback)),
      // The deadlines of an exchange know what is being waited for; undici's own do not.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 15_000,
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
    socket.read = (size?: number) => (this.held && size !== 0 ? null : (read(size) as unknown));
    this.socket = socket;
    this.held = false;
    callback(null, socket);
  }
}
