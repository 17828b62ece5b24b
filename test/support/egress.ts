// Test support: an egress proxy with its log and counters, real servers behind it, and a raw client.
import { once } from 'node:events';
import type { LookupAddress } from 'node:dns';
import { connect, createServer, isIP, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Logger, LogFields } from '#libs/logging/logger.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { Lookup } from '#libs/http-client/address-guard.js';
import { EgressProxy, type EgressBounds } from '../../apps/worker/sandbox/egress-proxy.js';

export interface TestEgress {
  proxy: EgressProxy;
  /** `server outcome`, in order. */
  counted: string[];
  logged: LogFields[];
  /** Names that were resolved. */
  asked: string[];
  /** Its address as passed to programs of the server. */
  urlOf(name: string): URL;
}

/** `addresses`: what a name resolves to, lookup by lookup; the last one repeats. */
export async function openTestEgress(
  options: { addresses?: Record<string, string[][]>; bounds?: Partial<EgressBounds>; resolve?: Lookup } = {},
): Promise<TestEgress> {
  const counted: string[] = [];
  const logged: LogFields[] = [];
  const asked: string[] = [];
  const logger: Logger = { ...silentLogger, info: (fields) => void logged.push(fields) };
  const resolve: Lookup = (name, _options, callback) => {
    const looks = options.addresses?.[name];
    asked.push(name);
    const found = looks === undefined || looks.length === 1 ? looks?.[0] : looks.shift();
    if (found === undefined) return callback(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), []);
    const addresses = found.map((address): LookupAddress => ({ address, family: isIP(address) }));
    setImmediate(() => callback(null, addresses));
  };
  const proxy = await EgressProxy.open({
    logger,
    onConnection: (server, outcome) => void counted.push(`${server} ${outcome}`),
    resolve: options.resolve ?? resolve,
    ...(options.bounds === undefined ? {} : { bounds: options.bounds }),
  });
  const allowed = new Map<string, URL>();
  const given = proxy.environmentFor.bind(proxy);
  proxy.environmentFor = (server) => {
    const environment = given(server);
    allowed.set(server.name, new URL(environment['HTTP_PROXY']!));
    return environment;
  };
  return { proxy, counted, logged, asked, urlOf: (name) => allowed.get(name)! };
}

export const authorization = (url: URL) =>
  `Proxy-Authorization: Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}\r\n`;

/** A connection to the proxy, and everything received on it. */
export class RawClient {
  received = '';
  ended = false;
  closed = false;
  failed = false;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => (this.received += text));
    socket.on('end', () => (this.ended = true));
    socket.on('error', () => (this.failed = true));
    socket.on('close', () => (this.closed = true));
  }

  static async open(port: number, host = '127.0.0.1'): Promise<RawClient> {
    const socket = connect({ port, host, allowHalfOpen: true });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  /** Sends a request to the proxy with the server's token. */
  static async ask(url: URL, head: string): Promise<RawClient> {
    const client = await RawClient.open(Number(url.port));
    client.socket.write(`${head}\r\n${authorization(url)}\r\n`);
    return client;
  }

  /** Resolves with everything received, once the peer has closed. */
  async answer(): Promise<string> {
    await this.gone();
    this.socket.destroy();
    return this.received;
  }

  /** Resolves when the text has been received. */
  async until(text: string): Promise<void> {
    await this.when(() => this.closed || this.received.includes(text));
    if (!this.received.includes(text)) throw new Error(`closed after ${JSON.stringify(this.received)}`);
  }

  /** Resolves when the peer has closed or reset the connection. */
  gone(): Promise<void> {
    return this.when(() => this.ended || this.closed);
  }

  private when(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!holds()) return;
        for (const event of events) this.socket.off(event, look);
        resolve();
      };
      const events = ['data', 'end', 'close'];
      for (const event of events) this.socket.on(event, look);
      look();
    });
  }
}

export interface TcpServer {
  port: number;
  /** Accepted connections, in order. */
  accepted: Socket[];
  close(): Promise<void>;
}

export async function openTcp(onSocket: (socket: Socket) => void, host = '127.0.0.1'): Promise<TcpServer> {
  const accepted: Socket[] = [];
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket);
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    accepted,
    close: async () => {
      for (const socket of accepted) socket.destroy();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
