// One connection to one MCP server: the only place that imports the SDK's client. Lists tolerantly, calls with progress
// and cancellation, and turns what the SDK throws into our errors. A call rejects at once when its signal aborts.
import {
  Client,
  InMemoryTransport,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  type CallToolResult,
  type Transport,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { AppError, type ToolErrorCode } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';

/** A server inside this process, as `createMcpServer` makes it. */
export interface InProcessServer {
  readonly name: string;
  connect(transport: Transport): Promise<unknown>;
  close(): Promise<void>;
}

export interface ToolRequest {
  tool: string;
  arguments: JsonObject;
  meta: JsonObject;
}

export interface CallOptions {
  signal: AbortSignal;
  /** After this long even a server that reports progress is given up. */
  maxTimeoutMs: number;
  onProgress: (progress: { progress: number; total?: number; message?: string }) => void;
}

export interface ToolConnection {
  /** The raw definitions, unchecked; a server that never stops listing is cut off. */
  listTools(signal: AbortSignal): Promise<unknown[]>;
  /** @throws AppError tool_crashed, tool_failed, invalid_tool_arguments, invalid_tool_result; the signal's reason */
  callTool(request: ToolRequest, options: CallOptions): Promise<CallToolResult>;
  readonly closed: boolean;
  onClosed(listener: () => void): void;
  onToolsChanged(listener: () => void): void;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 15_000;
const LIST_TIMEOUT_MS = 15_000;
const MAX_LIST_PAGES = 100;
const MAX_LISTED_TOOLS = 10_000;
const MAX_ERROR_LENGTH = 2_000;
const INVALID_PARAMS = -32602;

const listSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

export async function connectInProcess(server: InProcessServer, signal: AbortSignal): Promise<ToolConnection> {
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await server.connect(serverSide);
  return connect(clientSide, signal);
}

/** @throws AppError tool_unavailable; the transport is closed then. */
async function connect(transport: Transport, signal: AbortSignal): Promise<ToolConnection> {
  const client = new Client({ name: 'signalbox', version: '1' }, {});
  try {
    await client.connect(transport, { signal, timeout: CONNECT_TIMEOUT_MS });
  } catch (error) {
    await client.close().catch(() => undefined);
    throw new AppError('tool_unavailable', 'The tool server could not be reached', { cause: error });
  }
  return new ClientConnection(client);
}

class ClientConnection implements ToolConnection {
  closed = false;
  readonly #closedListeners: (() => void)[] = [];
  readonly #changedListeners: (() => void)[] = [];

  constructor(private readonly client: Client) {
    // The SDK's one hook, no event target.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener
    client.onclose = () => {
      this.closed = true;
      for (const listener of this.#closedListeners) listener();
    };
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      for (const listener of this.#changedListeners) listener();
    });
  }

  onClosed(listener: () => void): void {
    this.#closedListeners.push(listener);
  }

  onToolsChanged(listener: () => void): void {
    this.#changedListeners.push(listener);
  }

  async listTools(signal: AbortSignal): Promise<unknown[]> {
    const tools: unknown[] = [];
    const seen = new Set<string>();
    let cursor: string | undefined;
    for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const listed = await this.client.request({ method: 'tools/list', params }, listSchema, {
        signal,
        timeout: LIST_TIMEOUT_MS,
      });
      tools.push(...listed.tools.slice(0, MAX_LISTED_TOOLS - tools.length));
      cursor = listed.nextCursor;
      if (cursor === undefined || seen.has(cursor) || tools.length >= MAX_LISTED_TOOLS) break;
      seen.add(cursor);
    }
    return tools;
  }

  async callTool(request: ToolRequest, options: CallOptions): Promise<CallToolResult> {
    const { signal, maxTimeoutMs, onProgress } = options;
    signal.throwIfAborted();
    try {
      return await this.client.callTool(
        { name: request.tool, arguments: request.arguments, _meta: request.meta },
        // The deadline is the caller's; the SDK's own is only the last resort.
        { signal, timeout: maxTimeoutMs + 5_000, onprogress: onProgress },
      );
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw asAppError(error, request.tool);
    }
  }

  async close(): Promise<void> {
    await this.client.close();
    this.closed = true;
  }
}

function asAppError(error: unknown, toolName: string): AppError {
  if (error instanceof AppError) return error;
  const details = { cause: error, toolName };
  if (error instanceof ProtocolError) {
    const message = error.message.slice(0, MAX_ERROR_LENGTH);
    if (error.code === INVALID_PARAMS) return new AppError('invalid_tool_arguments', message, details);
    return new AppError('tool_failed', message, details);
  }
  if (error instanceof SdkError) {
    const [code, message] = sdkErrors[error.code] ?? (['tool_failed', 'The tool server could not be asked'] as const);
    return new AppError(code, message, details);
  }
  return new AppError('tool_failed', 'The tool failed', details);
}

const ended = ['tool_crashed', 'The tool server ended during the call'] as const;
const unreadable = ['invalid_tool_result', 'The tool answered in a shape that MCP does not know'] as const;

const sdkErrors: Partial<Record<SdkErrorCode, readonly [ToolErrorCode, string]>> = {
  [SdkErrorCode.ConnectionClosed]: ended,
  [SdkErrorCode.NotConnected]: ended,
  [SdkErrorCode.SendFailed]: ended,
  [SdkErrorCode.RequestTimeout]: ['tool_timeout', 'The tool did not answer in time'],
  [SdkErrorCode.InvalidResult]: unreadable,
  [SdkErrorCode.UnsupportedResultType]: unreadable,
};
