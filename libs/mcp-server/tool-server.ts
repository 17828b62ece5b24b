// An MCP server created from decorated instances: its tools, resources and prompts, and any number of connections that serve them.
// Has no transport of its own; the code that connects a transport also closes it.
import { randomBytes } from 'node:crypto';
import {
  createRequestStateCodec,
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerEvent,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/server';
import type { Cache } from '#libs/backing/cache.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import type { Logger } from '#libs/logging/logger.js';
import { mapNames, type NameMapping, strictNames } from '#libs/names/map-names.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Workspace } from '#libs/workspace/workspace.js';
import {
  abortError,
  contextOf,
  type ContextParts,
  HandlerClock,
  type KeptState,
  servedRequest,
  type ServedRequest,
  withKeptState,
} from './call-context.js';
import { ownClientName, type CallMeta } from './call-meta.js';
import type { Around, Authorize, McpServerOptions, ServedKind } from './decorators.js';
import { leaveUnanswered } from './endpoint/leave-unanswered.js';
import { tellChange } from './endpoint/tell-change.js';
import { type PromptOffer, ServedPrompts, type PromptSource } from './served/prompts.js';
import { type ResourceOffer, ServedResources } from './served/resources.js';
import { serveContents, type ContentRequest } from './served/serve-contents.js';
import { contentError } from './served/content-error.js';
import { failedResult, runServedTool, serveTool, toolErrorCode, type ServedTool } from './served-tool.js';
import type { ToolContext } from './tool-context.js';

export interface ToolServerOptions {
  logger: Logger;
  cache?: Cache;
  /**
   * Opens the session's files of a call. Set only if the caller is our own worker: the context in `_meta` is then
   * trusted, otherwise ignored.
   */
  openWorkspace?: (call: CallMeta) => Workspace;
  /** Prompts that may change at any time, besides those of the decorators. */
  prompts?: PromptSource;
  /** The session of calls over a transport that has none and serves one client: stdio. */
  sessionId?: string;
}

export interface ServedCall extends ServedRequest {
  tool: string;
  /** Checked against the tool's schema. */
  arguments: unknown;
}

/** Gets the events of a server. */
export interface ServerListener {
  onChange(change: ServerEvent): void;
  onClosed?(): void;
}

export class ToolServer {
  private readonly tools = new Map<string, ServedTool>();
  private readonly resources: ServedResources;
  private readonly prompts: ServedPrompts;
  /** Maps the tools' names, for clients that accept few names. Undefined after a change. */
  private names: NameMapping | undefined;
  private readonly connections = new Set<Server>();
  private readonly listeners = new Set<ServerListener>();
  private readonly parts: ContextParts;
  /** Signs the state that a handler keeps with a client between two requests, which must both reach this process. */
  private readonly states = createRequestStateCodec<KeptState>({ key: randomBytes(32) });

  constructor(
    private readonly declared: McpServerOptions,
    private readonly hooks: { authorize: Authorize | undefined; around: Around },
    private readonly options: ToolServerOptions,
  ) {
    const { name } = declared;
    this.resources = new ServedResources(name);
    this.prompts = new ServedPrompts(name, options.prompts);
    this.parts = { ...options, name, resourceUpdated: (uri) => this.resourceUpdated(uri) };
  }

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
    this.announce({ kind: 'tools_list_changed' });
  }

  /** False if no tool has the name. Running calls end normally. */
  remove(name: string): boolean {
    return this.announced(this.tools.delete(name), 'tools_list_changed');
  }

  /** Adds a resource or a template, also while connected. @throws Error naming both places when the URI is taken. */
  registerResource(resource: ResourceOffer): void {
    this.resources.add(resource);
    this.announce({ kind: 'resources_list_changed' });
  }

  /** False if no resource or template has the URI. */
  removeResource(uri: string): boolean {
    return this.announced(this.resources.remove(uri), 'resources_list_changed');
  }

  /** Adds a prompt, also while connected. @throws Error naming both places when the name is taken. */
  registerPrompt(prompt: PromptOffer): void {
    this.prompts.add(prompt);
    this.announce({ kind: 'prompts_list_changed' });
  }

  /** False if no declared prompt has the name. */
  removePrompt(name: string): boolean {
    return this.announced(this.prompts.remove(name), 'prompts_list_changed');
  }

  /** Notifies clients that have subscribed to the resource. */
  resourceUpdated(uri: string): void {
    this.announce({ kind: 'resource_updated', uri });
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

  /** The server for an entry that closes what it opens and reports changes itself (HTTP). */
  newServer(): Server {
    const { version = '1.0.0', instructions } = this.declared;
    const server = new Server(
      { name: this.name, version },
      {
        capabilities: this.capabilities,
        requestState: { verify: this.states.verify },
        ...(instructions === undefined ? {} : { instructions }),
      },
    );
    const { resources, prompts } = this;
    serveContents(server, { resources, prompts, run: (request, work) => this.runContent(server, request, work) });
    server.setRequestHandler('tools/list', () => ({ tools: this.listFor(server.getClientVersion()) }));
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const tool = this.wireNames.fromWire(params.name);
      if (!this.tools.has(tool)) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, unknownTool, { code: 'tool_not_found' });
      }
      const { transport } = server;
      const { id, signal } = context.mcpReq;
      const request = servedRequest(tool, context, { server, name: this.name });
      const result = await this.run({ tool, arguments: params.arguments, ...request }, 'info');
      if (signal.aborted) leaveUnanswered(transport, id);
      return withKeptState(tool, result, this.states);
    });
    return server;
  }

  async close(): Promise<void> {
    await Promise.all([...this.connections].map((server) => server.close()));
    this.connections.clear();
    for (const listener of this.listeners) listener.onClosed?.();
    this.listeners.clear();
  }

  /** What a server has none of at the time of the connection is not offered to the client. */
  private get capabilities() {
    const { areOffered: hasPrompts } = this.prompts;
    const hasResources = this.resources.size > 0;
    return {
      tools: { listChanged: true },
      logging: {},
      ...(hasPrompts ? { prompts: { listChanged: true } } : {}),
      ...(hasResources ? { resources: { listChanged: true, subscribe: true } } : {}),
      ...(hasPrompts || hasResources ? { completions: {} } : {}),
    };
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

  private announced(changed: boolean, kind: Exclude<ServerEvent['kind'], 'resource_updated'>): boolean {
    if (changed) this.announce({ kind });
    return changed;
  }

  private announce(change: ServerEvent): void {
    if (change.kind === 'tools_list_changed') this.names = undefined;
    for (const listener of this.listeners) listener.onChange(change);
    for (const server of this.connections) tellChange(server, change);
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
    const { timeoutMs } = tool.options;
    const clock = timeoutMs === undefined ? undefined : new HandlerClock(timeoutMs, call.signal);
    const signal = clock?.signal ?? call.signal;
    const context = contextOf(this.parts, call, signal);
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
        this.note('tool call', { tool: call.tool, context, startedAt, failure }, level);
      }
    }
  }

  private authorizedRun(tool: ServedTool, args: unknown, context: ToolContext): ReturnType<typeof runServedTool> {
    return this.hooks.authorize === undefined
      ? runServedTool(tool, args, context)
      : this.allowed('tool', tool.name, context).then(() => runServedTool(tool, args, context));
  }

  /** @throws AppError tool_denied; the signal's reason */
  private async allowed(kind: ServedKind, name: string, context: ToolContext): Promise<void> {
    if ((await this.hooks.authorize?.(name, context, kind)) === false) {
      const what = kind === 'resource' ? 'read' : kind === 'prompt' ? 'used' : 'called';
      throw new AppError('tool_denied', `UNAUTHORIZED: ${kind} '${name}' may not be ${what}`);
    }
    context.signal.throwIfAborted();
  }

  /** Everything but calls of tools. @throws ProtocolError, which says only what the client may see */
  private async runContent<Result extends object>(
    server: Server,
    { kind, name, request }: ContentRequest,
    work: (context: ToolContext) => Promise<Result | InputRequiredResult>,
  ): Promise<Result | InputRequiredResult> {
    const startedAt = performance.now();
    const of = `${kind} ${name ?? ''}`;
    const served = servedRequest(of, request, { server, name: this.name });
    const { signal } = served;
    const context = contextOf(this.parts, served, signal);
    const allowed = async () => {
      if (name !== undefined) await this.allowed(kind, name, context);
      return work(context);
    };
    let failure: unknown;
    try {
      return await withKeptState(of, await unlessAborted(allowed(), signal), this.states);
    } catch (error) {
      failure = signal.aborted ? abortError(signal) : error;
      throw contentError(failure, context);
    } finally {
      if (failure !== undefined || (name !== undefined && this.options.logger.isLevelEnabled('info'))) {
        this.note(`${kind} request`, { tool: name, context, startedAt, failure }, 'info');
      }
    }
  }

  /** One line for a request. It goes to the log only: what the client hears is up to the handler. */
  private note(
    what: string,
    {
      tool,
      context,
      startedAt,
      failure,
    }: { tool: string | undefined; context: ToolContext; startedAt: number; failure: unknown },
    level: 'info' | 'debug',
  ): void {
    const { requestId, userId, sessionId } = context;
    const fields = {
      requestId,
      userId,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(tool === undefined ? {} : { tool }),
      duration: Math.round(performance.now() - startedAt),
      metadata: { server: this.name },
    };
    const { logger } = this.options;
    if (failure === undefined) logger[level](fields, what);
    else logger.info({ ...fields, error: failure }, `${what} failed: ${toolErrorCode(failure)}`);
  }
}

const unknownTool = 'Unknown tool';
const nobodyAsked = 'The tool asked its caller something, which a tool in the worker’s own process cannot';
