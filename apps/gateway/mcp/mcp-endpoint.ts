// Both eras of MCP from one place: 2026-07-28 without state, older clients with a session, and those that send single
// requests without either. Knows web requests; what runs the tools is behind its ports.
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  legacyStatelessFallback,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import { AppError } from '#libs/schemas/errors.js';
import type { WatchedToolCatalog } from '../tools/tool-catalog.js';
import { collapseStream } from './collapse-stream.js';
import { bindExchange, type McpExchange } from './exchange.js';
import { createGatewayServer, type GatewayServerPorts } from './gateway-server.js';
import { LegacySessions } from './legacy-sessions.js';
import { bodyOf, type McpFrames } from './read-frames.js';

export interface McpEndpointPorts extends GatewayServerPorts {
  catalog: WatchedToolCatalog;
  /** A session or subscription was refused by its bound. */
  onRefused: (limit: 'mcp_sessions' | 'mcp_subscriptions') => void;
}

export interface McpEndpointLimits {
  sessions: number;
  sessionIdleMs: number;
  subscriptions: number;
}

export class McpEndpoint {
  readonly #modern: McpHttpHandler;
  readonly #stateless: ReturnType<typeof legacyStatelessFallback>;
  readonly #sessions: LegacySessions;
  readonly #stopWatching: () => void;
  #subscriptions = 0;

  constructor(
    private readonly ports: McpEndpointPorts,
    private readonly limits: McpEndpointLimits,
  ) {
    const newServer = () => createGatewayServer(ports);
    const onerror = (error: Error) => ports.logger.debug({ error }, 'mcp request');
    this.#modern = createMcpHandler(newServer, {
      legacy: 'reject',
      keepAliveMs: 0,
      onerror,
      maxSubscriptions: limits.subscriptions,
    });
    this.#stateless = legacyStatelessFallback(newServer, onerror);
    this.#sessions = new LegacySessions({
      limit: limits.sessions,
      idleMs: limits.sessionIdleMs,
      newServer,
      onRefused: () => ports.onRefused('mcp_sessions'),
    });
    this.#stopWatching = ports.catalog.onChange(() => {
      this.#modern.notify.toolsChanged();
      this.#sessions.toolsChanged();
    });
  }

  /** `frames`: of a POST. @throws AppError session_not_found, concurrency_exceeded, invalid_value, method_not_allowed */
  async answer(request: Request, exchange: McpExchange, frames?: McpFrames): Promise<Response> {
    bindExchange(request, exchange);
    const response = await this.#dispatch(request, exchange, frames);
    if (response.status >= 400) this.ports.observeError(new AppError('invalid_value', 'Refused by the protocol'));
    return exchange.streams || frames === undefined || frames.listens ? response : collapseStream(response, frames);
  }

  async close(): Promise<void> {
    this.#stopWatching();
    await Promise.all([this.#modern.close(), this.#sessions.close()]);
  }

  async #dispatch(request: Request, exchange: McpExchange, frames?: McpFrames): Promise<Response> {
    const sessionId = request.headers.get('mcp-session-id');
    if (frames === undefined) {
      if (sessionId === null) throw new AppError('method_not_allowed', 'Without an MCP session only POST is served');
      return this.#sessions.serve(sessionId, request, exchange);
    }
    const parsedBody = bodyOf(frames);
    if (!(await isLegacyRequest(request, parsedBody))) {
      if (frames.listens) this.#enterSubscription(exchange);
      return this.#modern.fetch(request, { parsedBody });
    }
    if (isInitializeRequest(parsedBody)) return this.#sessions.open(request, frames, exchange);
    if (sessionId !== null) return this.#sessions.serve(sessionId, request, exchange, frames);
    return this.#stateless(request, { parsedBody });
  }

  #enterSubscription(exchange: McpExchange): void {
    const { subscriptions } = this.limits;
    if (this.#subscriptions >= subscriptions) {
      this.ports.onRefused('mcp_subscriptions');
      throw new AppError('concurrency_exceeded', `${subscriptions} MCP subscriptions are open here`, {
        retryAfterSeconds: 60,
      });
    }
    this.#subscriptions += 1;
    exchange.atEnd.push(() => (this.#subscriptions -= 1));
  }
}
