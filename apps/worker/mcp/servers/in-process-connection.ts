// A connection to a server in this process, without a protocol. It behaves like a connection over the protocol:
// in-process-connection.test.ts runs the same cases with both.
import type { ServedCall, ServerListener } from '#libs/mcp-server/tool-server.js';
import { AppError } from '#libs/schemas/errors.js';
import { notify, type RawToolResult, type ToolConnection, type ToolRequest } from './connection.js';
import type { ListedOffers, ServerRequest } from './list-pages.js';
import type { ToolCallOptions } from '../wire/call-scope.js';
import { CountWindow } from '../wire/flood-gate.js';
import { readProgress } from '../wire/guarded-transport.js';

/** A server inside this process: from `createMcpServer`, or of an API. */
export interface InProcessServer {
  readonly name: string;
  /** Whether the server's tools ask models of the gateway as their caller. */
  readonly actsForCaller?: boolean;
  /** As of `ToolConnection`. */
  readonly leftOut?: readonly string[];
  list(): unknown[];
  call(call: ServedCall, options: ToolCallOptions): Promise<RawToolResult>;
  attach(listener: ServerListener): () => void;
}

export class InProcessConnection implements ToolConnection {
  readonly failure = undefined;
  private readonly detach: () => void;
  private readonly calls = new Set<AbortController>();
  private readonly closedListeners: (() => void)[] = [];
  private readonly changedListeners: (() => void)[] = [];
  private readonly reported = new CountWindow(1_000);
  closed = false;

  constructor(private readonly server: InProcessServer) {
    this.detach = server.attach({
      onChange: ({ kind }) => {
        if (kind === 'tools_list_changed') notify(this.changedListeners);
      },
      onClosed: () => this.end(),
    });
  }

  get leftOut(): readonly string[] | undefined {
    return this.server.leftOut;
  }

  onClosed(listener: () => void): void {
    this.closedListeners.push(listener);
  }

  onListChanged(listener: () => void): void {
    this.changedListeners.push(listener);
  }

  async listTools(signal: AbortSignal): Promise<unknown[]> {
    signal.throwIfAborted();
    if (this.closed) throw ended();
    return this.server.list();
  }

  async listOffers(): Promise<ListedOffers> {
    return { resources: [], templates: [], prompts: [], instructions: undefined, completes: false, subscribes: false };
  }

  async ask({ method }: ServerRequest): Promise<Record<string, unknown>> {
    throw new AppError('tool_failed', `The server does not have ${method}`);
  }

  onResourceUpdated(): void {}

  async callTool(request: ToolRequest, options: ToolCallOptions): Promise<RawToolResult> {
    const { signal } = options;
    signal.throwIfAborted();
    if (this.closed) throw ended(request.tool);
    // A separate signal, because it also aborts on close, and identifies late progress.
    const call = new AbortController();
    const abort = () => call.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.calls.add(call);
    try {
      const onProgress: ServedCall['onProgress'] = (progress) => {
        if (!this.calls.has(call) || this.reported.count() > maxProgressPerSecond) return;
        const read = readProgress(progress);
        if (read !== undefined) options.onProgress(read);
      };
      const result = await this.server.call({ ...request, signal: call.signal, onProgress }, options);
      if (call.signal.aborted) throw call.signal.reason;
      return result;
    } finally {
      this.calls.delete(call);
      signal.removeEventListener('abort', abort);
    }
  }

  async close(): Promise<void> {
    this.end();
  }

  private end(): void {
    if (this.closed) return;
    this.closed = true;
    this.detach();
    for (const call of this.calls) call.abort(ended());
    this.calls.clear();
    notify(this.closedListeners);
  }
}

const maxProgressPerSecond = 1_000;

function ended(toolName?: string): AppError {
  const details = toolName === undefined ? {} : { toolName };
  return new AppError('tool_crashed', 'The tool server ended during the call', details);
}
