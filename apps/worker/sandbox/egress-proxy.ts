// The HTTP proxy of command servers whose network is a list of hosts: CONNECT, and plain HTTP. Listens on loopback and
// serves only holders of a server's token. Refuses names and addresses that are not in that server's list.
// Reads only the host name of a tunnel, not its contents; logs no more than that.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { lookup as dnsLookup } from 'node:dns';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { readHostPort } from '#libs/config/addresses/host-name.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Lookup } from '#libs/http-client/address-guard.js';
import { connectTo, forward, joinSockets, type ForwardedRequest } from './egress-connection.js';
import { answerBare, answerPlainly, EgressRefusal, type EgressOutcome } from './egress-refusal.js';
import { EgressRules, type EgressTarget } from './egress-rules.js';

export interface EgressOptions {
  logger: Logger;
  /** `server` is empty if the client is unknown. */
  onConnection: (server: string, outcome: EgressOutcome) => void;
  resolve?: Lookup;
  bounds?: Partial<EgressBounds>;
}

export interface EgressBounds {
  connections: number;
  allConnections: number;
  /** Maximum headers of a request, and of an answer to plain HTTP. */
  headerBytes: number;
  headerMs: number;
  connectMs: number;
  /** How long a connection may carry no byte in either direction. */
  idleMs: number;
}

const defaultBounds: EgressBounds = {
  connections: 64,
  allConnections: 2_048,
  headerBytes: 16 * 1024,
  headerMs: 10_000,
  connectMs: 10_000,
  idleMs: 300_000,
};

const maxLogged = 1_000;

interface Client {
  name: string;
  token: string;
  rules: EgressRules;
  sockets: Set<Socket>;
}

export class EgressProxy {
  private readonly bounds: EgressBounds;
  private readonly resolve: Lookup;
  private readonly server: Server;
  private readonly clients = new Map<string, Client>();
  private readonly sockets = new Set<Socket>();
  /** Sockets that have sent their one request. More are refused, so that none hides behind the first. */
  private readonly used = new WeakSet<Socket>();
  private readonly logged = new Set<string>();

  private constructor(private readonly options: EgressOptions) {
    this.bounds = { ...defaultBounds, ...options.bounds };
    this.resolve = options.resolve ?? dnsLookup;
    const { headerBytes, headerMs, allConnections } = this.bounds;
    this.server = createServer({
      maxHeaderSize: headerBytes,
      headersTimeout: headerMs,
      // The duration of an upload is not limited here: idleMs bounds it.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(headerMs, 1_000),
      insecureHTTPParser: false,
    });
    this.server.maxRequestsPerSocket = 1;
    this.server.maxConnections = allConnections;
    this.server.on('drop', () => options.onConnection('', 'connections'));
    this.server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    this.server.on('connect', (request, socket, head) => void this.onConnect(request, socket as Socket, head));
    this.server.on('request', (request, response) => void this.onRequest(request, response));
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      this.onClientError(error, socket as Socket),
    );
  }

  static async open(options: EgressOptions): Promise<EgressProxy> {
    const proxy = new EgressProxy(options);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Environment for a server's programs. The list applies from now on, also to running programs. */
  environmentFor({ name, allow }: { name: string; allow: readonly string[] }): Record<string, string> {
    const known = this.clients.get(name) ?? { token: randomBytes(32).toString('base64url'), sockets: new Set() };
    const client: Client = { ...known, name, rules: new EgressRules(allow) };
    this.clients.set(name, client);
    const url = `http://${name}:${client.token}@127.0.0.1:${this.port}`;
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
    return {
      ...Object.fromEntries(names.map((variable) => [variable, url])),
      NODE_USE_ENV_PROXY: '1',
      NO_PROXY: '',
      no_proxy: '',
    };
  }

  /** Closes the server's connections; its token becomes invalid. */
  forget(name: string): void {
    for (const socket of this.clients.get(name)?.sockets ?? []) socket.destroy();
    this.clients.delete(name);
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private async onConnect(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => undefined);
    if (this.used.has(socket)) return void socket.destroy();
    try {
      const { client, upstream } = await this.admit(request, readAuthority(request.url!));
      this.watchIdle(socket, client);
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length > 0) socket.unshift(head);
      joinSockets(socket, upstream);
    } catch (error) {
      answerBare(socket, asRefusal(error));
    }
  }

  private async onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    this.used.add(socket);
    response.on('error', () => undefined);
    try {
      const target = readAbsolute(request.url!);
      const { client, upstream } = await this.admit(request, target);
      this.watchIdle(socket, client);
      forward(target!, { request, response, upstream }, this.bounds.headerBytes);
    } catch (error) {
      answerPlainly(response, asRefusal(error));
    }
  }

  /** @throws EgressRefusal */
  private async admit(request: IncomingMessage, target: EgressTarget | undefined) {
    const client = this.clientOf(request.headers['proxy-authorization']);
    const count = (outcome: EgressOutcome) => this.options.onConnection(client?.name ?? '', outcome);
    try {
      const malformed = target === undefined || (request.headersDistinct['host']?.length ?? 0) > 1;
      if (malformed)
        throw new EgressRefusal(400, 'malformed', 'This is a proxy: CONNECT host:port, or GET http://host/');
      if (client === undefined) throw new EgressRefusal(407, 'unauthorized', 'The token of a tool server is missing');
      this.take(client, request.socket);
      if (!client.rules.allows(target)) {
        const what = `${target.host}:${target.port} is not in mcpServers.${client.name}.network.allow`;
        throw new EgressRefusal(403, 'not_allowed', what);
      }
      const { name, rules } = client;
      const { connectMs } = this.bounds;
      const parts = { server: name, rules, resolve: this.resolve, connectMs };
      const upstream = await connectTo(target, request.socket, parts);
      count('connected');
      return { client, upstream };
    } catch (error) {
      const refusal = asRefusal(error);
      // A client that has disconnected was not refused.
      if (!request.socket.destroyed) count(refusal.outcome);
      if (refusal.status === 403 && client !== undefined) this.logRefusal(client, target!, refusal);
      throw refusal;
    }
  }

  private clientOf(authorization: string | undefined): Client | undefined {
    const [, encoded] = /^basic +([a-z0-9+/=]+)$/i.exec(authorization ?? '') ?? [];
    const [, name = '', token = ''] = /^([^:]*):(.*)$/.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? [];
    const client = this.clients.get(name);
    return client !== undefined && isEqual(client.token, token) ? client : undefined;
  }

  /** @throws EgressRefusal connections */
  private take({ name, sockets }: Client, socket: Socket): void {
    const { connections } = this.bounds;
    if (sockets.size >= connections) {
      const what = `mcpServers.${name} has ${connections} connections open, its maximum`;
      throw new EgressRefusal(503, 'connections', what);
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  }

  /** Watches the client's side, which every byte of a connection passes. */
  private watchIdle(socket: Socket, { name }: Client): void {
    socket.setTimeout(this.bounds.idleMs);
    socket.once('timeout', () => {
      this.options.onConnection(name, 'idle');
      socket.resetAndDestroy();
    });
  }

  private logRefusal({ name }: Client, { host, port }: EgressTarget, { outcome }: EgressRefusal): void {
    const key = `${name} ${host}:${port}`;
    if (this.logged.has(key) || this.logged.size >= maxLogged) return;
    this.logged.add(key);
    const metadata = { server: name, host, port, reason: outcome };
    this.options.logger.info({ metadata }, 'a tool server was refused a connection');
  }

  private onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || this.used.has(socket) || !socket.writable) return void socket.destroy();
    const refusal = refusalOf(error.code);
    this.options.onConnection('', refusal.outcome);
    answerBare(socket, refusal);
  }
}

function refusalOf(code: string | undefined): EgressRefusal {
  if (code === 'HPE_HEADER_OVERFLOW') return new EgressRefusal(431, 'header_bytes', 'The headers are too large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new EgressRefusal(408, 'header_time', 'The headers arrived too slowly');
  return new EgressRefusal(400, 'malformed', 'This is not an HTTP request');
}

const asRefusal = (error: unknown) =>
  error instanceof EgressRefusal ? error : new EgressRefusal(502, 'unreachable', 'The connection failed');

/** Compares digests, since `timingSafeEqual` needs equal lengths. */
function isEqual(left: string, right: string): boolean {
  const [a, b] = [left, right].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(a!, b!);
}

/** Reads the target of CONNECT, with a required port. */
function readAuthority(text: string): EgressTarget | undefined {
  const read = readHostPort(text);
  return read?.port === undefined ? undefined : { host: read.host, port: read.port };
}

/** Reads the target of other methods, `http://host[:port]/path`. The path is forwarded unchanged. */
function readAbsolute(text: string): ForwardedRequest | undefined {
  const [, authority, rest = ''] = /^http:\/\/([^/?#]+)([/?][\x21-\x7e]*)?$/i.exec(text) ?? [];
  const read = authority === undefined ? undefined : readHostPort(authority);
  if (read === undefined) return undefined;
  return { host: read.host, port: read.port ?? 80, path: rest.startsWith('/') ? rest : `/${rest}` };
}
