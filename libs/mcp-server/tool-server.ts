// An MCP server created from decorated instances: its set of tools, and any number of connections that serve them.
// Has no transport of its own; the code that connects a transport also closes it.
import { randomBytes } from 'node:crypto';
import { createRequestStateCodec, isInputRequiredResult, ProtocolError, Server } from '@modelcontextprotocol/server';
import type {
  CallToolResult,
  InputRequiredResult,
  InputResponses,
  ServerContext,
  Tool,
  Transport,
} from '@modelcontextprotocol/server';
import type { Cache } from '#libs/backing/cache.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import type { Logger } from '#libs/logging/logger.js';
import { mapNames, type NameMapping, strictNames } from '#libs/names/map-names.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Workspace } from '#libs/workspace/workspace.js';
import { ownClientName, readCallMeta, readCallToken, type CallMeta } from './call-meta.js';
import type { Around, Authorize, McpServerOptions } from './decorators.js';
import { exchangeOf } from './endpoint/exchange.js';
import { leaveUnanswered } from './endpoint/leave-unanswered.js';
import { servePrompts, type PromptSource } from './serve-prompts.js';
import { failedResult, runServedTool, serveTool, toolErrorCode, type ServedTool } from './served-tool.js';
import { scopedCache, type ToolCache, type ToolContext } from './tool-context.js';

export interface ToolServerOptions {
  logger: Logger;
  cache?: Cache;
  /**
   * Opens the session's files of a call. Set only if the caller is our own worker: the context in `_meta` is then
   * trusted, otherwise ignored.
   */
  openWorkspace?: (call: CallMeta) => Workspace;
  prompts?: PromptSource;
  /** The session of calls over a transport that has none and serves one client: stdio. */
  sessionId?: string;
}

export interface ServedCall {
  tool: string;
  /** Checked against the tool's schema. */
  arguments: unknown;
  meta: unknown;
  /** The connection's session, if its transport has sessions; a trusted caller's `meta` takes precedence. */
  sessionId?: string | undefined;
  /** Who calls over HTTP; a trusted caller's `meta` takes precedence. */
  userId?: string | undefined;
  signal: AbortSignal;
  /** What the client can be asked and has answered; absent within this process. */
  asking?: Pick<ToolContext, 'clientCapabilities' | 'inputResponses' | 'requestState'>;
  /** Absent if the caller does not want progress. Must not throw. */
  onProgress?: (progress: ServedProgress) => void;
}

export interface ServedProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** Gets the events of a server. */
export interface ServerListener {
  onToolsChanged(): void;
  onClosed?(): void;
}

const invalidParams = -32602;

export class ToolServer {
  private readonly tools = new Map<string, ServedTool>();
  /** Maps the tools' names, for clients that accept few names. Undefined after a change. */
  private names: NameMapping | undefined;
  private readonly connections = new Set<Server>();
  private readonly listeners = new Set<ServerListener>();
  /** Signs the state that a tool keeps with a client between two requests of a call, which must both reach this process. */
  private readonly states = createRequestStateCodec<KeptState>({ key: randomBytes(32) });

  constructor(
    private readonly declared: McpServerOptions,
    private readonly hooks: { authorize: Authorize | undefined; around: Around },
    private readonly options: ToolServerOptions,
  ) {}

  get name(): string {
    return this.declared.name;
  }

  get actsForCaller(): boolean {
    return this.declared.actsForCaller === true;
  }

  toolNames(): string[] {
    return [...this.tools.keys()];
  }

  /** Adds a tool, also while connected. @throws Error naming both places when the name is taken. */
  register(tool: Omit<ServedTool, 'listed'>): void {
    const other = this.tools.get(tool.name);
    if (other !== undefined) {
      const places = `${other.place} and ${tool.place}`;
      throw new Error(`Two tools of MCP server '${this.name}' are named '${tool.name}': ${places}`);
    }
    this.tools.set(tool.name, serveTool(tool));
    this.announce();
  }

  /** False if no tool has the name. Running calls end normally. */
  remove(name: string): boolean {
    const removed = this.tools.delete(name);
    if (removed) this.announce();
    return removed;
  }

  list(): Tool[] {
    return [...this.tools.values()].map((tool) => tool.listed);
  }

  /** For users within this process, who need no protocol: `list` and `call`. Returns a function that ends the attachment. */
  attach(listener: ServerListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  async connect(transport: Transport): Promise<Server> {
    const server = this.newConnection();
    await server.connect(transport);
    return server;
  }

  /** A connection without a transport, for an entry that brings its own (stdio of the SDK). */
  newConnection(): Server {
    const server = this.newServer();
    this.connections.add(server);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's server is no EventTarget
    server.onclose = () => this.connections.delete(server);
    return server;
  }

  /** The tools for an entry that closes what it opens and reports changes itself (HTTP). */
  newServer(): Server {
    const { prompts } = this.options;
    const server = new Server(
      { name: this.name, version: this.declared.version ?? '1.0.0' },
      {
        capabilities: { tools: { listChanged: true }, ...(prompts === undefined ? {} : { prompts: {} }) },
        requestState: { verify: this.states.verify },
      },
    );
    if (prompts !== undefined) servePrompts(server, prompts);
    server.setRequestHandler('tools/list', () => ({ tools: this.listFor(server.getClientVersion()) }));
    server.setRequestHandler('tools/call', async ({ params: asked }, context) => {
      const params = { ...asked, name: this.wireNames.fromWire(asked.name) };
      if (!this.tools.has(params.name)) {
        throw new ProtocolError(invalidParams, unknownTool, { code: 'tool_not_found' });
      }
      const { transport } = server;
      const { id, signal } = context.mcpReq;
      const call = servedCall(params, context);
      const result = await this.run({ ...call, asking: askingOf(params.name, context, server) }, 'info');
      if (signal.aborted) leaveUnanswered(transport, id);
      if (!isInputRequiredResult(result) || result.requestState === undefined) return result;
      return { ...result, requestState: await this.states.mint({ tool: params.name, state: result.requestState }) };
    });
    return server;
  }

  async close(): Promise<void> {
    await Promise.all([...this.connections].map((server) => server.close()));
    this.connections.clear();
    for (const listener of this.listeners) listener.onClosed?.();
    this.listeners.clear();
  }

  /** Claude Desktop refuses all tools for one name with a slash; our own worker takes every name. */
  private listFor(client: { name: string } | undefined): Tool[] {
    if (client?.name === ownClientName) return this.list();
    return this.list().map((tool) => {
      const name = this.wireNames.toWire(tool.name);
      return name === tool.name ? tool : { ...tool, name, title: tool.title ?? tool.annotations?.title ?? tool.name };
    });
  }

  private get wireNames(): NameMapping {
    return (this.names ??= mapNames(this.tools.keys(), strictNames));
  }

  private announce(): void {
    this.names = undefined;
    for (const listener of this.listeners) listener.onToolsChanged();
    // A connection that is not open yet, or has just closed, requests the list anyway.
    for (const server of this.connections) {
      if (server.transport !== undefined) server.sendToolListChanged().catch(() => undefined);
    }
  }

  /**
   * A call from within this process. Its caller writes the log line: here only failures are logged, with their cause.
   * An error thrown by a tool becomes an error result.
   * @throws AppError invalid_tool_arguments if there is no such tool
   */
  call(call: ServedCall): Promise<CallToolResult> {
    return this.run(call, 'debug').then((result) =>
      isInputRequiredResult(result) ? failedResult(new AppError('tool_failed', nobodyAsked)) : result,
    );
  }

  private async run(call: ServedCall, level: 'info' | 'debug'): Promise<CallToolResult | InputRequiredResult> {
    const tool = this.tools.get(call.tool);
    if (tool === undefined) throw new AppError('invalid_tool_arguments', unknownTool);
    const startedAt = performance.now();
    const clock = tool.options.timeoutMs === undefined ? undefined : new ToolClock(tool.options.timeoutMs, call.signal);
    const signal = clock?.signal ?? call.signal;
    const context = this.context(call, signal);
    let failure: unknown;
    const run = () =>
      unlessAborted(this.authorizedRun(tool, call.arguments, context), signal).catch((error: unknown) => {
        failure = signal.aborted ? abortError(signal) : error;
        throw failure;
      });
    try {
      return await this.hooks.around({ tool: call.tool, arguments: call.arguments, context }, run);
    } catch (error) {
      failure = error;
      return failedResult(error);
    } finally {
      clock?.stop();
      if (failure !== undefined || this.options.logger.isLevelEnabled(level)) {
        const duration = Math.round(performance.now() - startedAt);
        const fields = { tool: call.tool, duration, metadata: { server: this.name } };
        if (failure === undefined) context.logger[level](fields, 'tool call');
        else context.logger.info({ ...fields, error: failure }, `tool call failed: ${toolErrorCode(failure)}`);
      }
    }
  }

  private authorizedRun(tool: ServedTool, args: unknown, context: ToolContext): ReturnType<typeof runServedTool> {
    const { authorize } = this.hooks;
    return authorize === undefined ? runServedTool(tool, args, context) : runIfAllowed(authorize, tool, args, context);
  }

  private context({ meta, userId: caller, sessionId: connected, onProgress, asking }: ServedCall, signal: AbortSignal) {
    const { openWorkspace, logger, cache, sessionId: only } = this.options;
    const callMeta: Partial<CallMeta> = openWorkspace === undefined ? {} : readCallMeta(meta);
    const requestId = callMeta.requestId ?? mintRequestId();
    const userId = callMeta.userId ?? caller ?? 'anonymous';
    const sessionId = callMeta.sessionId ?? connected ?? only;
    const fields = { requestId, userId, ...(sessionId === undefined ? {} : { sessionId }) };
    const callToken = readCallToken(meta);
    // Most tools do not use these members.
    let ownLogger: Logger | undefined;
    let ownCache: ToolCache | undefined;
    const scope = `tool:${this.name}:${userId}:`;
    const context: ToolContext = {
      ...fields,
      ...(callToken === undefined ? {} : { callToken }),
      get workspace(): Workspace {
        const { sessionId, workspaceDirectory } = callMeta;
        if (openWorkspace === undefined || sessionId === undefined || workspaceDirectory === undefined) {
          throw new AppError('tool_unavailable', 'This tool needs a session');
        }
        return openWorkspace({ requestId, userId, sessionId, workspaceDirectory });
      },
      get logger() {
        return (ownLogger ??= logger.child(fields));
      },
      get cache() {
        return (ownCache ??= scopedCache(cache, scope, signal));
      },
      signal,
      clientCapabilities: {},
      ...asking,
      reportProgress: (progress, total, message) => {
        if (signal.aborted) return;
        onProgress?.({
          progress,
          ...(total === undefined ? {} : { total }),
          ...(message === undefined ? {} : { message }),
        });
      },
    };
    return context;
  }
}

async function runIfAllowed(
  authorize: Authorize,
  tool: ServedTool,
  args: unknown,
  context: ToolContext,
): ReturnType<typeof runServedTool> {
  if ((await authorize(tool.name, context)) === false) {
    throw new AppError('tool_denied', `UNAUTHORIZED: tool '${tool.name}' may not be called`);
  }
  context.signal.throwIfAborted();
  return runServedTool(tool, args, context);
}

const unknownTool = 'Unknown tool';
const nobodyAsked = 'The tool asked its caller something, which a tool in the worker’s own process cannot';

interface KeptState {
  tool: string;
  state: string;
}

/** @throws ProtocolError for the state of another tool */
function askingOf(tool: string, { mcpReq }: ServerContext, server: Server): NonNullable<ServedCall['asking']> {
  const { inputResponses } = mcpReq;
  const kept = mcpReq.requestState<KeptState>();
  if (kept !== undefined && kept.tool !== tool)
    throw new ProtocolError(invalidParams, 'The state belongs to another tool');
  return {
    clientCapabilities: server.getClientCapabilities() ?? {},
    ...(inputResponses === undefined ? {} : { inputResponses: inputResponses as InputResponses }),
    ...(kept === undefined ? {} : { requestState: kept.state }),
  };
}

function servedCall(
  { name, arguments: args }: { name: string; arguments?: unknown },
  { mcpReq, sessionId, http }: ServerContext,
): ServedCall {
  const { _meta: meta, signal } = mcpReq;
  const progressToken = meta?.progressToken;
  const userId = http?.req === undefined ? undefined : exchangeOf(http.req).context.principal;
  const call = { tool: name, arguments: args, meta, sessionId, userId, signal };
  if (progressToken === undefined) return call;
  return {
    ...call,
    onProgress: (progress) => {
      const params = { progressToken, ...progress };
      mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
    },
  };
}

class ToolClock {
  private readonly own = new AbortController();
  private readonly timer: NodeJS.Timeout;
  readonly signal = this.own.signal;
  // Not AbortSignal.any(), whose links only full garbage collections free.
  private readonly cancel = () => this.own.abort(this.callers.reason);

  constructor(
    timeoutMs: number,
    private readonly callers: AbortSignal,
  ) {
    const late = () => this.own.abort(new AppError('tool_timeout', `No result within ${timeoutMs} ms`));
    this.timer = setTimeout(late, timeoutMs);
    if (callers.aborted) this.cancel();
    else callers.addEventListener('abort', this.cancel, { once: true });
  }

  stop(): void {
    clearTimeout(this.timer);
    this.callers.removeEventListener('abort', this.cancel);
  }
}

function abortError(signal: AbortSignal): AppError {
  return signal.reason instanceof AppError ? signal.reason : new AppError('cancelled', 'The call was cancelled');
}
