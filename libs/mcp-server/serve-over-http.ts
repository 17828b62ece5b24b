// Serves a decorated server over Streamable HTTP on a port of its own, for clients of every era. Accepts only requests whose
// Host is this machine or an allowed name; `authenticate`, if given, identifies the caller.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { hostAllowed, originAllowed } from '#libs/http-server/allowed-caller.js';
import {
  type BoundedServer,
  boundServer,
  mayBeAnswered,
  readerReady,
  whenGone,
} from '#libs/http-server/connections.js';
import { parseBody } from '#libs/http-server/parse-body.js';
import { logFailure } from '#libs/logging/log-failure.js';
import { onlyLineFeeds } from '#libs/http-server/event-lines.js';
import { answerUnread, hasUnreadBody } from '#libs/http-server/unread-body.js';
import type { Logger } from '#libs/logging/logger.js';
import { listeningPort } from '#libs/process/listening-port.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';
import { isStream } from './endpoint/collapse-stream.js';
import type { McpExchange } from './endpoint/exchange.js';
import { McpEndpoint } from './endpoint/mcp-endpoint.js';
import { readFrames } from './endpoint/read-frames.js';
import { renderRpcError } from './endpoint/rpc-error.js';
import { eventStream, passOn, webRequest } from './endpoint/web-request.js';
import type { ToolServer } from './tool-server.js';

export interface HttpServingOptions {
  logger: Logger;
  /** An address of this machine. Default 127.0.0.1: anyone who can reach it may call, so be careful with others. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  /** Default `/mcp`. */
  path?: string;
  /** Host names that callers may use, besides `localhost`, `host` and plain addresses. */
  allowedHosts?: readonly string[];
  /** Origins of web pages that may call, besides pages of the same host; `*` for all. */
  allowedOrigins?: readonly string[];
  /** Maximum body size of a request. Default 4 MiB. */
  maxBodyBytes?: number;
  /** Maximum sessions of clients from before 2026, and subscriptions of later ones. Default 100 each. */
  maxSessions?: number;
  /** A client that reads nothing for this long is disconnected. Default 60 s. */
  stuckReaderMs?: number;
  /** The user id of a caller. Default: everybody is `anonymous`. @throws AppError to refuse it */
  authenticate?: (request: IncomingMessage) => string;
  /** Called at each refusal by a limit: connections, sessions, requests of one connection. */
  onRefused?: (limit: string) => void;
  /** Other addresses that are answered with GET, without `authenticate` and for every Host: health and metrics. */
  pages?: Readonly<Record<string, (request: IncomingMessage) => Promise<ServedPage>>>;
}

export interface ServedPage {
  status: number;
  contentType: string;
  text: string;
}

export interface HttpServing {
  /** Where clients connect: `http://127.0.0.1:4000/mcp`. */
  url: string;
  /** Accepts nothing new, lets running calls end for at most `graceMs` (default 10 s), then closes all connections. */
  close(graceMs?: number): Promise<void>;
}

const keepAliveMs = 15_000;
const sessionIdleMs = 600_000;
const requestMs = 600_000;

/** @throws Error if the port is in use */
export async function serveOverHttp(server: ToolServer, options: HttpServingOptions): Promise<HttpServing> {
  const serving = new Serving(server, options);
  await serving.listen();
  return serving;
}

class Serving implements HttpServing {
  private readonly http = createServer((request, response) => void this.take(request, response));
  private readonly connections: BoundedServer;
  private readonly endpoint: McpEndpoint;
  private readonly hosts: ReadonlySet<string>;
  private readonly origins: ReadonlySet<string>;
  private readonly host: string;
  private readonly path: string;
  /** Aborts requests that only wait. */
  private readonly stopping = new AbortController();
  private readonly calls = new Set<Promise<void>>();
  private readonly onRefused: (limit: string) => void;

  constructor(
    server: ToolServer,
    private readonly options: HttpServingOptions,
  ) {
    const { host = '127.0.0.1', path = '/mcp', allowedHosts = [], allowedOrigins = [], maxSessions = 100 } = options;
    this.host = host;
    this.path = path;
    this.hosts = new Set(['localhost', host, ...allowedHosts].map((name) => name.toLowerCase()));
    this.origins = new Set(allowedOrigins);
    const { logger, stuckReaderMs = 60_000 } = options;
    this.onRefused = (limit) => {
      options.onRefused?.(limit);
      // Refused connections have log lines of their own.
      if (limit !== 'connections') logger.warn({ metadata: { limit } }, 'refused by a limit');
    };
    const onBound = this.onRefused;
    this.connections = boundServer(this.http, { stuckReaderMs, onBound, logger });
    this.endpoint = new McpEndpoint(
      {
        newServer: () => server.newServer(),
        onChange: (listener) => server.attach({ onChange: listener }),
        logger,
        observeError: () => undefined,
        onRefused: this.onRefused,
        onEvicted: () => this.onRefused('mcp_sessions'),
      },
      { sessions: maxSessions, sessionIdleMs, subscriptions: maxSessions, keepAliveMs },
    );
  }

  get url(): string {
    const host = this.host.includes(':') ? `[${this.host}]` : this.host;
    return `http://${host}:${listeningPort(this.http)}${this.path}`;
  }

  async listen(): Promise<void> {
    this.http.listen(this.options.port ?? 0, this.host);
    await once(this.http, 'listening');
    this.options.logger.info({ metadata: { url: this.url } }, 'mcp server listens');
  }

  async close(graceMs = 10_000): Promise<void> {
    if (this.stopping.signal.aborted) return;
    const closed = once(this.http, 'close');
    this.http.close();
    this.stopping.abort();
    const grace = AbortSignal.timeout(graceMs);
    await Promise.race([Promise.allSettled(this.calls), once(grace, 'abort')]);
    await this.endpoint.close();
    this.connections.closeQuiet();
    await Promise.race([closed, once(grace, 'abort')]);
    this.http.closeAllConnections();
    await closed;
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = mintRequestId();
    let body: unknown;
    try {
      if (!mayBeAnswered(request, response)) return;
      const page = request.method === 'GET' ? this.options.pages?.[pathOf(request)] : undefined;
      if (page !== undefined) {
        const { status, contentType, text } = await page(request);
        response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' }).end(text);
        return;
      }
      this.guard(request);
      const principal = this.options.authenticate?.(request) ?? 'anonymous';
      body = request.method === 'POST' ? parseBody(await this.read(request)) : undefined;
      await this.answer(request, response, { requestId, principal, body });
    } catch (thrown) {
      const error = toAppError(thrown);
      logFailure(this.options.logger, error, { requestId });
      if (error.code === 'invalid_api_key' && !response.headersSent) response.setHeader('www-authenticate', 'Bearer');
      if (response.headersSent) return void response.destroy();
      const text = JSON.stringify(renderRpcError(error, requestId, body));
      if (response.destroyed || !hasUnreadBody(request)) respond(response, error.http, text);
      else
        answerUnread(request, response, { status: error.http, headers: { 'content-type': 'application/json' }, text });
    }
  }

  /** @throws AppError host_forbidden, origin_forbidden, not_found, method_not_allowed, unsupported_media_type, shutting_down */
  private guard(request: IncomingMessage): void {
    const { method = '', headers } = request;
    const { host, origin } = headers;
    if (!hostAllowed(host, this.hosts))
      throw new AppError('host_forbidden', 'This server does not answer to the name in the Host header');
    if (origin !== undefined && !originAllowed(origin, host, this.origins)) {
      throw new AppError('origin_forbidden', 'Requests from this Origin are not allowed');
    }
    if (pathOf(request) !== this.path) throw new AppError('not_found', 'There is nothing at this address');
    if (!['GET', 'POST', 'DELETE'].includes(method)) {
      throw new AppError('method_not_allowed', 'Allowed here: POST, GET, DELETE');
    }
    const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
    if (method === 'POST' && type !== 'application/json') {
      throw new AppError('unsupported_media_type', 'Send application/json');
    }
    if (this.stopping.signal.aborted) throw new AppError('shutting_down', 'This server is stopping');
  }

  /** @throws AppError request_too_large */
  private async read(request: IncomingMessage): Promise<Buffer> {
    const { maxBodyBytes = 4 * 1024 * 1024 } = this.options;
    const pieces: Buffer[] = [];
    let bytes = 0;
    // Otherwise Node ends the connection with the loop, and the client cannot read the answer.
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > maxBodyBytes)
        throw new AppError('request_too_large', `A request may have at most ${maxBodyBytes} bytes`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  private async answer(
    request: IncomingMessage,
    response: ServerResponse,
    { requestId, principal, body }: { requestId: string; principal: string; body: unknown },
  ): Promise<void> {
    const { method = 'POST', headers } = request;
    const frames = method === 'POST' ? readFrames(body) : undefined;
    const gone = new AbortController();
    whenGone(request, response, () => gone.abort());
    const waits = method === 'GET' || frames?.listens === true;
    const signal = waits ? AbortSignal.any([gone.signal, this.stopping.signal]) : gone.signal;
    const context = { principal, requestId, signal, deadline: new Deadline(steadyNow() + requestMs) };
    const streams = method !== 'POST' || headers.accept?.includes(eventStream) === true;
    const exchange: McpExchange = { context, streams, readerBehind: false, atEnd: [], goesOn: [] };
    if (frames?.calls === true) exchange.atEnd.push(this.enterCall());
    try {
      const answer = await this.endpoint.answer(webRequest(request, signal), exchange, frames);
      await send(answer, response, signal);
    } finally {
      for (const end of exchange.atEnd) end();
    }
  }

  private enterCall(): () => void {
    let end: () => void = () => undefined;
    const call = new Promise<void>((resolve) => (end = resolve));
    this.calls.add(call);
    return () => {
      this.calls.delete(call);
      end();
    };
  }
}

const pathOf = ({ url = '' }: IncomingMessage) => url.split('?', 1)[0]!;

async function send(answer: Response, response: ServerResponse, signal: AbortSignal): Promise<void> {
  if (!isStream(answer)) {
    const session = answer.headers.get('mcp-session-id');
    if (session !== null) response.setHeader('mcp-session-id', session);
    respond(response, answer.status, await answer.text());
    return;
  }
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  try {
    await passOn(answer.body!, signal, (text) =>
      response.write(onlyLineFeeds(text)) ? undefined : readerReady(response),
    );
  } finally {
    response.end();
  }
}

function respond(response: ServerResponse, status: number, text: string): void {
  if (response.destroyed) return;
  response.writeHead(status, text === '' ? {} : { 'content-type': 'application/json' }).end(text);
}
