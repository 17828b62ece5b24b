// All eras of MCP over HTTP on one endpoint: 2026-07-28 without state, older clients with a session (Streamable HTTP,
// or HTTP+SSE), and older clients that send single requests without either. Knows web requests; its user provides the server.
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  legacyStatelessFallback,
  type McpHttpHandler,
  type McpRequestContext,
  type Server,
  type ServerEvent,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { collapseStream } from './collapse-stream.js';
import { bindExchange, exchangeOf, type McpExchange } from './exchange.js';
import { LegacySessions } from './legacy-sessions.js';
import { bodyOf, type McpFrames } from './read-frames.js';

export interface McpEndpointPorts {
  /** Creates a server per request, or per session of an older client. */
  newServer: (exchange: McpExchange) => Server;
  /** Calls the listener when a list or a resource has changed. Returns a function that stops it. */
  onChange: (listener: (change: ServerEvent) => void) => () => void;
  /**
   * Follows the resources that a listening client names, until the exchange ends. Resolves with those that it may follow. Absent: the
   * server announces no changes of single resources.
   */
  followResources?: (
    uris: readonly string[],
    exchange: McpExchange,
    onUpdated: (uri: string) => void,
  ) => Promise<string[]>;
  /** A session of an older client has ended. */
  onSessionEnd?: (server: Server) => void;
  logger: Logger;
  observeError: (error: AppError) => void;
  /** A session, message or subscription was refused because of its limit. */
  onRefused: (limit: 'mcp_sessions' | 'mcp_unread_answers' | 'mcp_subscriptions') => void;
  onEvicted: () => void;
}

export interface McpEndpointLimits {
  sessions: number;
  sessionIdleMs: number;
  subscriptions: number;
  /** 0 if the writer of the streams sends keep-alives. */
  keepAliveMs: number;
}

const listenFilter = z.looseObject({
  notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()).min(1) }),
});

export class McpEndpoint {
  private readonly newHandler: () => McpHttpHandler;
  private readonly modern: McpHttpHandler;
  private readonly stateless: ReturnType<typeof legacyStatelessFallback>;
  private readonly sessions: LegacySessions;
  private readonly stopWatching: () => void;
  /** One for each stream: lists change for everybody, but two clients may mean different resources by one URI. */
  private readonly listening = new Set<McpHttpHandler>();

  constructor(
    private readonly ports: McpEndpointPorts,
    private readonly limits: McpEndpointLimits,
  ) {
    const { newServer, onRefused, onEvicted, onSessionEnd } = ports;
    const { keepAliveMs } = limits;
    const onerror = (error: Error) => ports.logger.debug({ error }, 'mcp request');
    const serverFor = ({ requestInfo }: McpRequestContext) => newServer(exchangeOf(requestInfo));
    this.newHandler = () => createMcpHandler(serverFor, { legacy: 'reject', keepAliveMs, onerror });
    this.modern = this.newHandler();
    this.stateless = legacyStatelessFallback(serverFor, onerror);
    this.sessions = new LegacySessions({
      limit: limits.sessions,
      idleMs: limits.sessionIdleMs,
      keepAliveMs,
      newServer,
      onRefused,
      onEvicted,
      onSessionEnd,
    });
    this.stopWatching = ports.onChange((change) => {
      for (const { bus } of this.listening) bus.publish(change);
      this.sessions.tell(change);
    });
  }

  /** `frames`: a POST's messages. @throws AppError session_not_found, concurrency_exceeded, invalid_value, method_not_allowed */
  async answer(request: Request, exchange: McpExchange, frames?: McpFrames): Promise<Response> {
    bindExchange(request, exchange);
    const response = await this.dispatch(request, exchange, frames);
    if (response.status >= 400) this.ports.observeError(new AppError('invalid_value', 'Refused by the protocol'));
    return exchange.streams || frames === undefined || frames.listens ? response : collapseStream(response, frames);
  }

  /** Opens the stream of HTTP+SSE, which names `messagesPath` and the session. @throws AppError concurrency_exceeded */
  openStream(messagesPath: string, exchange: McpExchange): Promise<Response> {
    return this.sessions.openStream(messagesPath, exchange);
  }

  /**
   * Handles messages of HTTP+SSE, answered on the stream. If this does not throw, the exchange ends when all are answered.
   * @throws AppError session_not_found, concurrency_exceeded, invalid_value
   */
  receive(sessionId: string, request: Request, exchange: McpExchange, frames: McpFrames): void {
    this.sessions.receive(sessionId, request, exchange, frames);
  }

  /** Ends streams that only wait and do not end with a request. */
  stopWaiting(): void {
    this.sessions.endIdleStreams();
  }

  async close(): Promise<void> {
    this.stopWatching();
    await Promise.all([this.modern, this.sessions, ...this.listening].map((each) => each.close()));
  }

  private async dispatch(request: Request, exchange: McpExchange, frames?: McpFrames): Promise<Response> {
    const sessionId = request.headers.get('mcp-session-id');
    if (frames === undefined) {
      if (sessionId === null) throw new AppError('method_not_allowed', 'Without an MCP session only POST is served');
      return this.sessions.serve(sessionId, request, exchange);
    }
    const parsedBody = bodyOf(frames);
    if (!(await isLegacyRequest(request, parsedBody))) {
      if (!frames.listens) return this.modern.fetch(request, { parsedBody });
      const handler = this.enterSubscription(exchange);
      await this.followResources(frames, exchange, (uri) => handler.notify.resourceUpdated(uri));
      return handler.fetch(request, { parsedBody });
    }
    if (isInitializeRequest(parsedBody)) return this.sessions.open(request, frames, exchange);
    if (sessionId !== null) return this.sessions.serve(sessionId, request, exchange, frames);
    return this.stateless(request, { parsedBody });
  }

  /** Leaves only those in the request that are followed: the SDK promises the client what the request names. */
  private async followResources(
    { requests }: McpFrames,
    exchange: McpExchange,
    onUpdated: (uri: string) => void,
  ): Promise<void> {
    const { followResources } = this.ports;
    const asked = listenFilter.safeParse(requests.find(({ method }) => method === 'subscriptions/listen')?.params).data;
    if (followResources === undefined || asked === undefined) return;
    const { notifications } = asked;
    const uris = notifications.resourceSubscriptions;
    notifications.resourceSubscriptions = await followResources(uris, exchange, onUpdated);
    for (const request of requests)
      if (request.method === 'subscriptions/listen') Object.assign(request.params!, asked);
  }

  /** What serves the stream. @throws AppError concurrency_exceeded */
  private enterSubscription(exchange: McpExchange): McpHttpHandler {
    const { subscriptions } = this.limits;
    if (this.listening.size >= subscriptions) {
      this.ports.onRefused('mcp_subscriptions');
      throw new AppError('concurrency_exceeded', `${subscriptions} MCP subscriptions are already open`, {
        retryAfterSeconds: 60,
      });
    }
    const handler = this.newHandler();
    this.listening.add(handler);
    exchange.atEnd.push(() => this.listening.delete(handler));
    return handler;
  }
}
