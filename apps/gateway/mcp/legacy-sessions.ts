// Sessions of clients from before 2026: one server and transport each, kept in this gateway, bounded in number and idle
// time. A session is its caller's only; what it leaves behind is a workspace of the same name.
import { type Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintSessionId } from '#libs/schemas/identifiers.js';
import type { McpExchange } from './exchange.js';
import { bodyOf, type McpFrames } from './read-frames.js';

export interface LegacySessionOptions {
  /** Sessions at once. */
  limit: number;
  /** A session with nothing under way, no open stream either, is ended after so long. */
  idleMs: number;
  newServer: () => Server;
  /** A new session was refused. */
  onRefused: () => void;
}

interface Session {
  principal: string;
  server: Server;
  transport: WebStandardStreamableHTTPServerTransport;
  /** Ids of requests under way: the transport would mix up two of one id. */
  openIds: Set<string | number>;
  exchanges: number;
  usedAt: number;
}

const sweepsPerIdleTime = 4;

export class LegacySessions {
  readonly #sessions = new Map<string, Session>();
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly options: LegacySessionOptions) {
    this.#timer = setInterval(() => this.#sweep(), Math.max(1, options.idleMs / sweepsPerIdleTime));
    this.#timer.unref();
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Answers `initialize`. @throws AppError concurrency_exceeded */
  async open(request: Request, frames: McpFrames, exchange: McpExchange): Promise<Response> {
    const { limit, newServer, onRefused } = this.options;
    if (this.#sessions.size >= limit) {
      onRefused();
      throw new AppError('concurrency_exceeded', `${limit} MCP sessions are open here`, { retryAfterSeconds: 60 });
    }
    const id = mintSessionId();
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id, keepAliveMs: 0 });
    const server = newServer();
    const { principal } = exchange.context;
    const session = { principal, server, transport, openIds: new Set<string | number>(), exchanges: 0, usedAt: 0 };
    this.#sessions.set(id, session);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's server is no EventTarget
    server.onclose = () => this.#sessions.delete(id);
    await server.connect(transport);
    return handle(session, request, exchange, frames);
  }

  /** Answers everything else of a session. @throws AppError session_not_found, invalid_value */
  async serve(id: string, request: Request, exchange: McpExchange, frames?: McpFrames): Promise<Response> {
    const session = this.#sessions.get(id);
    if (session === undefined || session.principal !== exchange.context.principal) {
      throw new AppError('session_not_found', 'There is no such MCP session: initialize again');
    }
    return handle(session, request, exchange, frames);
  }

  /** Told to those who listen. */
  toolsChanged(): void {
    for (const { server } of this.#sessions.values()) server.sendToolListChanged().catch(() => undefined);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.close()));
  }

  #sweep(): void {
    const before = steadyNow() - this.options.idleMs;
    for (const { exchanges, usedAt, server } of this.#sessions.values()) {
      if (exchanges === 0 && usedAt < before) void server.close();
    }
  }
}

function handle(session: Session, request: Request, exchange: McpExchange, frames?: McpFrames): Promise<Response> {
  const ids = (frames?.requests ?? []).map(({ id }) => id);
  if (new Set(ids).size < ids.length || ids.some((id) => session.openIds.has(id))) {
    throw new AppError('invalid_value', 'A request with this id is under way in this session', { param: 'id' });
  }
  for (const id of ids) session.openIds.add(id);
  session.exchanges += 1;
  session.usedAt = steadyNow();
  exchange.atEnd.push(() => {
    for (const id of ids) session.openIds.delete(id);
    session.exchanges -= 1;
    session.usedAt = steadyNow();
  });
  return session.transport.handleRequest(request, frames === undefined ? {} : { parsedBody: bodyOf(frames) });
}
