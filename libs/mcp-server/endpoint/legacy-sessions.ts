// Sessions of clients from before 2026: one server and transport each, kept in this process, bounded in number and idle
// time. A session belongs to its caller. Above the bound, the one that was idle longest is ended.
import {
  type Server,
  type ServerEvent,
  type Transport,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintSessionId } from '#libs/schemas/identifiers.js';
import { bindExchange, type McpExchange } from './exchange.js';
import { bodyOf, type McpFrames } from './read-frames.js';
import { SseTransport } from './sse-transport.js';
import { tellChange } from './tell-change.js';

export interface LegacySessionOptions {
  limit: number;
  /** A session without activity ends after this time; an open `GET` counts as activity, the SSE stream does not. */
  idleMs: number;
  /** Interval on streams over Streamable HTTP; 0 if the streams' writer sends keep-alives. */
  keepAliveMs: number;
  newServer: (exchange: McpExchange) => Server;
  onRefused: (limit: 'mcp_sessions' | 'mcp_unread_answers') => void;
  /** A session was ended to make room for another. */
  onEvicted: () => void;
  onSessionEnd?: ((server: Server) => void) | undefined;
}

interface Session {
  principal: string;
  toolset: string | undefined;
  server: Server;
  transport: Transport;
  /** The stream that the client holds open: its `GET`, or that of HTTP+SSE. */
  stream?: McpExchange | undefined;
  /** Ids of requests in progress: the transport would mix up two with one id. */
  openIds: Set<string | number>;
  exchanges: number;
  calls: number;
  usedAt: number;
}

const sweepsPerIdleTime = 4;
/** Limit for the stream of one SSE session: no more messages are accepted from a client that does not read answers. */
const maxUnreadBytes = 4 * 1024 * 1024;

export class LegacySessions {
  private readonly sessions = new Map<string, Session>();
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly options: LegacySessionOptions) {
    this.timer = setInterval(() => this.sweep(), Math.max(1, options.idleMs / sweepsPerIdleTime)).unref();
  }

  /** Answers `initialize`. @throws AppError concurrency_exceeded */
  async open(request: Request, frames: McpFrames, exchange: McpExchange): Promise<Response> {
    const { keepAliveMs } = this.options;
    const newTransport = (id: string) =>
      new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id, keepAliveMs });
    const { session, transport } = await this.start(exchange, newTransport);
    return handle(session, transport, request, { exchange, frames });
  }

  /** Answers all other requests of a session. @throws AppError session_not_found, invalid_value */
  async serve(id: string, request: Request, exchange: McpExchange, frames?: McpFrames): Promise<Response> {
    const session = this.find(id, exchange);
    const { transport } = session;
    if (!(transport instanceof WebStandardStreamableHTTPServerTransport)) throw notFound();
    return handle(session, transport, request, { exchange, frames });
  }

  /** Returns the stream of a new SSE session, which ends with it. @throws AppError concurrency_exceeded */
  async openStream(messagesPath: string, exchange: McpExchange): Promise<Response> {
    const newTransport = (id: string) => new SseTransport(id, `${messagesPath}?sessionId=${id}`);
    const { session, transport } = await this.start(exchange, newTransport);
    session.stream = exchange;
    exchange.atEnd.push(() => void session.server.close());
    return new Response(transport.body, { headers: { 'content-type': 'text/event-stream' } });
  }

  /**
   * Handles a message posted to an SSE session. The exchange ends when all of it is answered on the stream.
   * @throws AppError session_not_found, invalid_value, concurrency_exceeded
   */
  receive(id: string, request: Request, exchange: McpExchange, frames: McpFrames): void {
    const session = this.find(id, exchange);
    const { transport, stream } = session;
    if (!(transport instanceof SseTransport) || stream === undefined) throw notFound();
    if (transport.unreadBytes > maxUnreadBytes) {
      this.options.onRefused('mcp_unread_answers');
      throw new AppError('concurrency_exceeded', 'Read the answers on the stream of this session first');
    }
    enter(session, exchange, frames);
    bindExchange(request, {
      context: { ...exchange.context, signal: stream.context.signal },
      streams: true,
      get readerBehind() {
        return stream.readerBehind;
      },
      sessionStream: () => stream,
      atEnd: [],
      goesOn: exchange.goesOn,
    });
    let left = frames.messages.length;
    const onEnd = () => {
      left -= 1;
      if (left === 0) for (const end of exchange.atEnd) end();
    };
    for (const message of frames.messages) transport.receive(message, request, onEnd);
  }

  tell(change: ServerEvent): void {
    for (const { server } of this.sessions.values()) tellChange(server, change);
  }

  /** Ends the streams of SSE sessions that run no tool, which do not end by themselves. */
  endIdleStreams(): void {
    for (const session of this.sessions.values()) {
      if (session.transport instanceof SseTransport && session.calls === 0) void session.server.close();
    }
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all([...this.sessions.values()].map(({ server }) => server.close()));
  }

  private async start<T extends Transport>(
    exchange: McpExchange,
    newTransport: (id: string) => T,
  ): Promise<{ session: Session; transport: T }> {
    this.makeRoom();
    const id = mintSessionId();
    const transport = newTransport(id);
    const server = this.options.newServer(exchange);
    const { principal } = exchange.context;
    const { toolset } = exchange;
    const counts = { openIds: new Set<string | number>(), exchanges: 0, calls: 0, usedAt: steadyNow() };
    const session: Session = { principal, toolset, server, transport, ...counts };
    this.sessions.set(id, session);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's server is no EventTarget
    server.onclose = () => {
      this.sessions.delete(id);
      this.options.onSessionEnd?.(server);
    };
    await server.connect(transport);
    return { session, transport };
  }

  private find(id: string, { context: { principal }, toolset }: McpExchange): Session {
    const session = this.sessions.get(id);
    if (session === undefined || session.principal !== principal || session.toolset !== toolset) throw notFound();
    return session;
  }

  /** @throws AppError concurrency_exceeded if every session runs a tool */
  private makeRoom(): void {
    const { limit, onRefused, onEvicted } = this.options;
    if (this.sessions.size < limit) return;
    let idlest: [string, Session] | undefined;
    for (const entry of this.sessions) {
      const [, { calls, usedAt }] = entry;
      if (calls === 0 && (idlest === undefined || usedAt < idlest[1].usedAt)) idlest = entry;
    }
    if (idlest === undefined) {
      onRefused('mcp_sessions');
      throw new AppError('concurrency_exceeded', `${limit} MCP sessions are already running tools`, {
        retryAfterSeconds: 60,
      });
    }
    onEvicted();
    this.sessions.delete(idlest[0]);
    void idlest[1].server.close();
  }

  private sweep(): void {
    const before = steadyNow() - this.options.idleMs;
    for (const { exchanges, usedAt, server } of this.sessions.values()) {
      if (exchanges === 0 && usedAt < before) void server.close();
    }
  }
}

const notFound = () => new AppError('session_not_found', 'There is no such MCP session: initialize again');

function handle(
  session: Session,
  transport: WebStandardStreamableHTTPServerTransport,
  request: Request,
  { exchange, frames }: { exchange: McpExchange; frames: McpFrames | undefined },
): Promise<Response> {
  enter(session, exchange, frames);
  exchange.sessionStream = () => session.stream;
  if (request.method === 'GET') holdStream(session, exchange);
  return transport.handleRequest(request, frames === undefined ? {} : { parsedBody: bodyOf(frames) });
}

/** The transport refuses a second one. */
function holdStream(session: Session, exchange: McpExchange): void {
  session.stream ??= exchange;
  exchange.atEnd.push(() => {
    if (session.stream === exchange) session.stream = undefined;
  });
}

/** Counts the exchange until its end. @throws AppError invalid_value */
function enter(session: Session, exchange: McpExchange, frames: McpFrames | undefined): void {
  const ids = (frames?.requests ?? []).map(({ id }) => id);
  if (ids.some((id) => session.openIds.has(id))) {
    throw new AppError('invalid_value', 'A request with this id is already in progress in this session', {
      param: 'id',
    });
  }
  const calls = frames?.calls === true ? 1 : 0;
  for (const id of ids) session.openIds.add(id);
  session.exchanges += 1;
  session.calls += calls;
  session.usedAt = steadyNow();
  exchange.atEnd.push(() => {
    for (const id of ids) session.openIds.delete(id);
    session.exchanges -= 1;
    session.calls -= calls;
    session.usedAt = steadyNow();
  });
}
