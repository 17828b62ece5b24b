// An MCP server made of decorated instances: the set of its tools, and any number of connections that serve them.
// Knows no transport of its own; who connects one also closes it.
import { Server, ProtocolError, type Transport } from '@modelcontextprotocol/server';
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import type { Cache } from '#libs/backing/cache.js';
import type { Logger } from '#libs/logging/logger.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Workspace } from '#libs/workspace/workspace.js';
import { readCallMeta, type CallMeta } from './call-meta.js';
import type { Authorize, McpServerOptions } from './decorators.js';
import { leaveUnanswered } from './endpoint/leave-unanswered.js';
import { failedResult, runTool, serveTool, toolErrorCode, type ServedTool } from './served-tool.js';
import type { ToolCache, ToolContext } from './tool-context.js';

export interface ToolServerOptions {
  logger: Logger;
  cache?: Cache;
  /**
   * Opens the session's files of a call. Given only where the caller is our own worker: with it the context in `_meta`
   * is believed, without it ignored.
   */
  openWorkspace?: (call: CallMeta) => Workspace;
}

const invalidParams = -32602;

export class ToolServer {
  readonly #tools = new Map<string, ServedTool>();
  readonly #connections = new Set<Server>();
  readonly #changeListeners = new Set<() => void>();

  constructor(
    private readonly declared: McpServerOptions,
    private readonly authorize: Authorize,
    private readonly options: ToolServerOptions,
  ) {}

  get name(): string {
    return this.declared.name;
  }

  toolNames(): string[] {
    return [...this.#tools.keys()];
  }

  /** Adds a tool, also while connected. @throws Error naming both places when the name is taken. */
  register(tool: Omit<ServedTool, 'listed'>): void {
    const other = this.#tools.get(tool.name);
    if (other !== undefined) {
      throw new Error(
        `Two tools of MCP server '${this.name}' are named '${tool.name}': ${other.place} and ${tool.place}`,
      );
    }
    this.#tools.set(tool.name, serveTool(tool));
    this.#announce();
  }

  /** False when there is none of that name. Calls under way end as they would. */
  remove(name: string): boolean {
    const removed = this.#tools.delete(name);
    if (removed) this.#announce();
    return removed;
  }

  /** Calls the listener when tools were added or removed. Returns how to stop. */
  onToolsChanged(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /** Serves one connection until its transport closes. */
  async connect(transport: Transport): Promise<Server> {
    const server = this.newConnection();
    await server.connect(transport);
    return server;
  }

  /** A connection yet without transport, for an entry that brings its own (stdio of the SDK). */
  newConnection(): Server {
    const server = this.newServer();
    this.#connections.add(server);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's server is no EventTarget
    server.onclose = () => this.#connections.delete(server);
    return server;
  }

  /** The tools for an entry that closes what it opens, and tells of changes itself (HTTP). */
  newServer(): Server {
    const server = new Server(
      { name: this.name, version: this.declared.version ?? '1.0.0' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler('tools/list', () => ({ tools: [...this.#tools.values()].map((tool) => tool.listed) }));
    server.setRequestHandler('tools/call', (request, context) => this.#call(server, request.params, context));
    return server;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections].map((server) => server.close()));
    this.#connections.clear();
  }

  #announce(): void {
    // A connection that is not open yet, or has just closed, asks for the list anyway.
    for (const server of this.#connections) {
      if (server.transport !== undefined) server.sendToolListChanged().catch(() => undefined);
    }
    for (const listener of this.#changeListeners) listener();
  }

  async #call(
    { transport }: Server,
    { name, arguments: args }: { name: string; arguments?: unknown },
    request: ServerContext,
  ): Promise<CallToolResult> {
    const tool = this.#tools.get(name);
    if (tool === undefined) throw new ProtocolError(invalidParams, 'Unknown tool', { code: 'tool_not_found' });
    const startedAt = performance.now();
    const deadline = new AbortController();
    const timer =
      tool.options.timeoutMs === undefined
        ? undefined
        : setTimeout(
            () => deadline.abort(new AppError('tool_timeout', `No result within ${tool.options.timeoutMs} ms`)),
            tool.options.timeoutMs,
          );
    const signal = AbortSignal.any([request.mcpReq.signal, deadline.signal]);
    const context = this.#context(request, signal);
    let failure: unknown;
    try {
      return await unlessAborted(this.#authorizedRun(tool, args, context), signal);
    } catch (error) {
      failure = error;
      return this.declared.renderError?.(error, name) ?? failedResult(error);
    } finally {
      clearTimeout(timer);
      if (request.mcpReq.signal.aborted) leaveUnanswered(transport, request.mcpReq.id);
      this.#logCall(name, context, performance.now() - startedAt, failure);
    }
  }

  async #authorizedRun(tool: ServedTool, args: unknown, context: ToolContext): Promise<CallToolResult> {
    if ((await this.authorize(tool.name, context)) === false) {
      throw new AppError('tool_denied', `UNAUTHORIZED: tool '${tool.name}' may not be called`);
    }
    context.signal.throwIfAborted();
    return runTool(tool, args, context);
  }

  #context(request: ServerContext, signal: AbortSignal): ToolContext {
    const { openWorkspace } = this.options;
    const told: Partial<CallMeta> = openWorkspace === undefined ? {} : readCallMeta(request.mcpReq._meta);
    const requestId = told.requestId ?? mintRequestId();
    const userId = told.userId ?? 'anonymous';
    const sessionId = told.sessionId ?? request.sessionId;
    const fields = { requestId, userId, ...(sessionId === undefined ? {} : { sessionId }) };
    return {
      ...fields,
      get workspace(): Workspace {
        const { sessionId, workspaceDirectory } = told;
        if (openWorkspace === undefined || sessionId === undefined || workspaceDirectory === undefined) {
          throw new AppError('tool_unavailable', 'This tool needs a session');
        }
        return openWorkspace({ requestId, userId, sessionId, workspaceDirectory });
      },
      logger: this.options.logger.child(fields),
      cache: scopedCache(this.options.cache, `tool:${this.name}:${userId}:`, signal),
      signal,
      reportProgress: (progress, total, message) => {
        const progressToken = request.mcpReq._meta?.progressToken;
        if (progressToken === undefined || signal.aborted) return;
        const params = {
          progressToken,
          progress,
          ...(total === undefined ? {} : { total }),
          ...(message === undefined ? {} : { message }),
        };
        request.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
      },
    };
  }

  #logCall(tool: string, context: ToolContext, duration: number, failure: unknown): void {
    const fields = { tool, duration: Math.round(duration), metadata: { server: this.name } };
    if (failure === undefined) context.logger.info(fields, 'tool call');
    else context.logger.info({ ...fields, error: failure }, `tool call failed: ${toolErrorCode(failure)}`);
  }
}

/** The promise's result, or the signal's reason at once: a handler that ignores its signal holds nobody. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(abortError(signal));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } catch (error) {
    promise.catch(() => undefined);
    throw signal.aborted ? abortError(signal) : error;
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}

function abortError(signal: AbortSignal): AppError {
  return signal.reason instanceof AppError ? signal.reason : new AppError('cancelled', 'The call was cancelled');
}

function scopedCache(cache: Cache | undefined, prefix: string, signal: AbortSignal): ToolCache {
  return {
    get: async (key) => cache?.get(prefix + key, signal),
    set: async (key, value, ttlMs) => cache?.set(prefix + key, value, ttlMs, signal),
    delete: async (key) => cache?.delete(prefix + key, signal),
  };
}
