// A connection to an MCP server, the only owner of the SDK's client. Lists and calls tools, reads resources and prompts, with
// progress and cancellation, and converts errors to ours. A call rejects at once when its signal aborts. connect.ts creates connections.
import { Client, ProtocolError, SseError, type PriorDiscovery, type Tool } from '@modelcontextprotocol/client';
import { ownClientName } from '#libs/mcp-server/call-meta.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type JsonObject, textOrEmpty } from '#libs/schemas/json.js';
import { tasksExtension } from '#libs/mcp-server/tasks-extension.js';
import { appCapability } from '#libs/mcp-server/tool-app.js';
import type { McpPeer } from '#libs/tracing/spans.js';
import { CallsInProgress } from '../asking/calls-in-progress.js';
import type { EstablishOptions } from './connect-options.js';
import { asCallError, isSessionLost, misunderstanding, SessionLost } from './connection-errors.js';
import { isBrokenQuestion } from '../asking/elicitation.js';
import { type ListedOffers, listOffers, listingOfTools, listPages, type ServerRequest } from './list-pages.js';
import { type RequestMeta, LogLevels, readServerLog } from '../asking/server-logs.js';
import { ResourceSubscriptions } from './resource-subscriptions.js';
import { ServerRequests } from '../asking/server-requests.js';
import { ServerTasks } from '../tasks/server-tasks.js';
import { callScope, type ToolCallOptions } from '../wire/call-scope.js';
import type { GuardedTransport } from '../wire/guarded-transport.js';
import { keepListening } from '../wire/keep-listening.js';
import { declaresHeaders } from '../wire/param-headers.js';
import { disclose } from '../wire/read-message.js';
import { StdioTransport } from '../wire/stdio-transport.js';

export interface ToolRequest {
  tool: string;
  arguments: JsonObject;
  meta: JsonObject;
}

export interface RawToolResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
  _meta?: unknown;
  /** `_meta` of a result for the tool's app. */
  appMeta?: unknown;
}

export interface ToolConnection {
  /** The unchecked definitions, up to a bound. */
  listTools(signal: AbortSignal): Promise<unknown[]>;
  /** What the server offers besides tools, up to a bound. */
  listOffers(signal: AbortSignal): Promise<ListedOffers>;
  /**
   * @throws AppError tool_crashed, tool_failed, tool_unavailable, invalid_tool_arguments, invalid_tool_result,
   * result_too_large; SessionLost; the signal's reason
   */
  callTool(request: ToolRequest, options: ToolCallOptions): Promise<RawToolResult>;
  /** Resolves with the unchecked result. Throws as `callTool` does. */
  ask(request: ServerRequest, options: ToolCallOptions): Promise<Record<string, unknown>>;
  /** What of the server is no tool, each with the reason: of an API, operations that are not offered. Known once the tools are listed. */
  readonly leftOut?: readonly string[] | undefined;
  readonly closed: boolean;
  /** The address of the server, for traces; absent within this process. */
  readonly peer?: McpPeer | undefined;
  /** Why the connection closed, if the server caused it. */
  readonly failure: AppError | undefined;
  onClosed(listener: () => void): void;
  /** The lists of tools, resources or prompts have changed. */
  onListChanged(listener: () => void): void;
  /** A resource has changed that a call asked about. */
  onResourceUpdated(listener: (uri: string) => void): void;
  /** Resolves when the session and the process have ended. */
  close(): Promise<void>;
}

/** A server that does not answer the newer greeting within this time is greeted as an older one. */
const probeTimeoutMs = 5_000;

/** MCP 2026-07-28: the server refused the call before running it, since headers with arguments are missing. */
const headerMismatch = -32_020;
const longestTimerMs = 2 ** 31 - 1;

export class ClientConnection implements ToolConnection {
  closed = false;
  private readonly client: Client;
  private readonly logs: LogLevels;
  private readonly subscriptions: ResourceSubscriptions;
  private readonly closedListeners: (() => void)[] = [];
  private readonly changedListeners: (() => void)[] = [];
  private readonly ended = new AbortController();
  private readonly calls: CallsInProgress;
  private readonly tasks: ServerTasks;
  /** Tools that want arguments in headers, as listed last. */
  private mirrored: ReadonlyMap<string, Tool> = new Map();
  private checking = false;
  /** The newer era was assumed, and the server has not answered in it yet. */
  private unproven: boolean;

  constructor(
    private readonly guard: GuardedTransport,
    private readonly options: EstablishOptions,
  ) {
    const { root, prior, sampling, startTimeoutMs, shared = false, isModern = false } = options;
    this.calls = new CallsInProgress(shared);
    const probeMs = isModern ? startTimeoutMs : Math.min(probeTimeoutMs, startTimeoutMs / 4);
    this.unproven = prior?.kind === 'modern';
    const onChanged = () => notify(this.changedListeners);
    const changes = { autoRefresh: false, debounceMs: 0, onChanged };
    this.client = new Client(
      { name: ownClientName, version: '1' },
      {
        capabilities: {
          elicitation: { form: {} },
          ...(root === undefined ? {} : { roots: {} }),
          ...(sampling === undefined ? {} : { sampling: {} }),
          extensions: { ...appCapability, [tasksExtension]: {} },
        },
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeMs } },
        listChanged: { tools: changes, resources: changes, prompts: changes },
      },
    );
    this.logs = new LogLevels(this.client);
    this.subscriptions = new ResourceSubscriptions(this.client);
    guard.onlog = (params) => this.logged(params);
    for (const list of ['tools', 'resources', 'prompts'] as const) {
      this.client.setNotificationHandler(`notifications/${list}/list_changed`, onChanged);
    }
    const asked = new ServerRequests(this.client, this.calls, options);
    this.tasks = new ServerTasks(this.client, guard, asked, options.cancelGraceMs);
  }

  get failure(): AppError | undefined {
    return this.guard.failure;
  }

  get peer(): McpPeer {
    return {
      transport: this.guard.inner instanceof StdioTransport ? 'pipe' : 'tcp',
      sessionId: this.guard.sessionId,
      protocolVersion: this.client.getNegotiatedProtocolVersion(),
    };
  }

  /** May never settle if the server ends right after its greeting, so the caller needs a deadline. */
  async open(signal: AbortSignal): Promise<void> {
    const closed = new Promise<never>((_resolve, reject) => {
      // Without a failure, the SDK rejects with its own reason.
      const onclose = () => void (this.failure === undefined || reject(this.failure));
      Object.assign(this.guard, { onclose });
    });
    closed.catch(() => undefined);
    const { prior, startTimeoutMs } = this.options;
    // The signal has the real deadline.
    const timeout = startTimeoutMs + 5_000;
    const connecting = this.client.connect(this.guard, { signal, timeout, ...(prior === undefined ? {} : { prior }) });
    await Promise.race([connecting, closed]);
    // The SDK has only this hook.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener
    this.client.onclose = () => {
      this.closed = true;
      this.ended.abort();
      notify(this.closedListeners);
    };
    // The tools may have changed while the stream was interrupted.
    const onAgain = () => notify(this.changedListeners);
    // With the older transport, the session ends with its stream. The SDK would open a new stream without a session.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener
    this.client.onerror = (error) => {
      if (!(error instanceof SseError) || this.closed) return;
      this.giveUp();
      // The next listing connects again.
      onAgain();
    };
    this.guard.inner.onnewsagain = onAgain;
    void keepListening(this.client, this.ended.signal, onAgain);
  }

  /** The discovered era, for the next connection. */
  get discovery(): PriorDiscovery {
    const discover = this.client.getDiscoverResult();
    return this.client.getProtocolEra() === 'modern' && discover !== undefined
      ? { kind: 'modern', discover }
      : { kind: 'legacy' };
  }

  onClosed(listener: () => void): void {
    this.closedListeners.push(listener);
  }

  onListChanged(listener: () => void): void {
    this.changedListeners.push(listener);
  }

  onResourceUpdated(listener: (uri: string) => void): void {
    this.subscriptions.onUpdated(listener);
  }

  async listTools(signal: AbortSignal): Promise<unknown[]> {
    try {
      const listed = await listPages(this.client, listingOfTools, { signal, onBound: this.options.onBound });
      this.unproven = false;
      const mirrored = new Map<string, Tool>();
      const tools = listed.filter((tool) => this.mayOffer(tool, mirrored));
      this.mirrored = mirrored;
      this.tasks.listed(tools);
      return tools;
    } catch (error) {
      throw this.callError(error);
    }
  }

  listOffers(signal: AbortSignal): Promise<ListedOffers> {
    return listOffers(this.client, { signal, onBound: this.options.onBound }).catch((error: unknown) => {
      throw this.callError(error);
    });
  }

  callTool(request: ToolRequest, options: ToolCallOptions): Promise<RawToolResult> {
    return this.during(options, request.tool, (given, _meta) => {
      const ask = () => {
        const params = {
          name: request.tool,
          arguments: request.arguments,
          _meta: { ...request.meta, ..._meta },
          ...this.tasks.paramsOf(request.tool, given.timeout),
        };
        // Without a definition, the SDK would look for one in listings of its own.
        const toolDefinition = this.mirrored.get(request.tool) ?? definitionOf(request.tool, {});
        return this.client.callTool(params, { ...given, toolDefinition });
      };
      const asked = this.tasks.needsListing ? this.listTools(given.signal).then(ask) : ask();
      return asked.catch(async (error: unknown) => {
        if (!(error instanceof ProtocolError) || error.code !== headerMismatch) throw error;
        await this.listTools(given.signal);
        return ask();
      });
    });
  }

  ask({ method, params, meta }: ServerRequest, options: ToolCallOptions): Promise<Record<string, unknown>> {
    return this.during(options, undefined, async (given, _meta) => {
      if (method !== 'resources/subscribe') {
        return this.client.request({ method, params: { ...params, _meta: { ...meta, ..._meta } } } as never, given);
      }
      await this.subscriptions.renew(textOrEmpty(params['uri']), given.signal);
      return {};
    });
  }

  /** Sends a request of a call. `toolName`: the tool, if the request runs one. */
  private async during(
    options: ToolCallOptions,
    toolName: string | undefined,
    send: (given: { signal: AbortSignal; timeout: number }, meta: RequestMeta) => Promise<Record<string, unknown>>,
  ): Promise<Record<string, unknown>> {
    const { signal, logLevel } = options;
    signal.throwIfAborted();
    const progressToken = this.guard.expectProgress(options);
    this.calls.add(options);
    try {
      const lowered = this.logs.lower(logLevel, signal);
      if (lowered !== undefined) await lowered;
      const meta = { progressToken, ...this.logs.metaOf(logLevel) };
      // The caller has the real deadline. The SDK's is longer.
      const timeout = Math.min(options.maxTimeoutMs + (options.questionsMs ?? 0) + 5_000, longestTimerMs);
      const result = disclose(await callScope.run(options, () => send({ signal, timeout }, meta)));
      this.unproven = false;
      if (toolName === undefined) return result;
      const task = this.tasks.madeOf(result, toolName);
      if (task === undefined) return result;
      const call = { tool: toolName, options, progressToken, timeout };
      return await callScope.run(options, () => this.tasks.follow(task, call));
    } catch (error) {
      if (!signal.aborted) throw this.callError(error, toolName);
      void this.checkAfterCancel();
      throw signal.reason;
    } finally {
      this.calls.delete(options);
      this.guard.forgetProgress(progressToken);
    }
  }

  /** Adds a tool that wants arguments in headers, which it may over HTTP in the newer era. */
  private mayOffer(tool: unknown, mirrored: Map<string, Tool>): boolean {
    const isMirrored = this.client.getProtocolEra() === 'modern' && !(this.guard.inner instanceof StdioTransport);
    if (!isMirrored || !isJsonObject(tool) || typeof tool['name'] !== 'string') return true;
    const { name, inputSchema } = tool;
    const declares = declaresHeaders(inputSchema);
    if (declares === true) mirrored.set(name, definitionOf(name, inputSchema));
    return declares !== undefined;
  }

  async close(): Promise<void> {
    this.ended.abort();
    this.subscriptions.close();
    await this.client.close();
    this.closed = true;
    // If the connection ended by itself, the SDK has dropped it, but its process may still run.
    const { inner } = this.guard;
    if (inner instanceof StdioTransport) await inner.close();
  }

  private logged(params: unknown): void {
    const call = this.calls.logging();
    const log = call?.logLevel === undefined ? undefined : readServerLog(params, call.logLevel);
    if (log !== undefined) call?.onLog?.(log);
  }

  private callError(error: unknown, toolName?: string): AppError {
    const needed = this.options.needed?.(error);
    if (needed !== undefined) return needed;
    if (isBrokenQuestion(error)) return new AppError('tool_failed', 'The tool asked a question that cannot be read');
    if (this.guard.sessionId !== undefined && isSessionLost(error)) return new SessionLost();
    const misunderstood = this.unproven ? misunderstanding(error, toolName === undefined) : undefined;
    if (misunderstood !== undefined) {
      this.options.memory?.forget();
      // The refused request ran nothing: a new connection detects the era.
      if (misunderstood === 'refused') return new SessionLost();
      this.giveUp();
    }
    return asCallError(error, { toolName, failure: this.failure });
  }

  /** A server need not answer a cancelled call, but one that no longer answers anything is ended. */
  private async checkAfterCancel(): Promise<void> {
    const { inner } = this.guard;
    if (!(inner instanceof StdioTransport) || this.closed || this.checking) return;
    this.checking = true;
    const options = { timeout: this.options.cancelGraceMs };
    const modern = this.client.getProtocolEra() === 'modern';
    try {
      await (modern ? this.client.discover(options) : this.client.ping(options));
    } catch (error) {
      if (asCallError(error, {}).code !== 'tool_timeout') return;
      inner.failure ??= new AppError('tool_crashed', 'The tool server ignored a cancellation and was ended');
      await inner.close().catch(() => undefined);
    } finally {
      this.checking = false;
    }
  }

  private giveUp(): void {
    this.close().catch(() => undefined);
  }
}

const definitionOf = (name: string, inputSchema: unknown): Tool => ({
  name,
  inputSchema: { ...(inputSchema as JsonObject), type: 'object' },
});

export function notify(listeners: readonly (() => void)[]): void {
  for (const listener of listeners) listener();
}
