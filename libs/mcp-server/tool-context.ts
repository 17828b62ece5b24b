// The context that the method of a tool, a resource or a prompt receives besides its input.
import type { ClientCapabilities, InputResponses } from '@modelcontextprotocol/server';
import type { Cache } from '#libs/backing/cache.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Workspace } from '#libs/workspace/workspace.js';

export interface ToolContext {
  requestId: string;
  /** The calling principal; `anonymous` if the transport gave none. */
  userId: string;
  /** The caller's session, or the MCP session over HTTP; absent if there is none. */
  sessionId?: string;
  /** A secret key for chats without server tools at the gateway, as the caller, while the call runs. */
  callToken?: string;
  /** The session's files. Throws tool_unavailable if the call has none. */
  readonly workspace: Workspace;
  /** Its lines go to the log, and to the client at or above the level that it wants. */
  readonly logger: Logger;
  readonly cache: ToolCache;
  /** Aborts when the caller cancels or disconnects, or the tool's time is over. */
  signal: AbortSignal;
  /** Questions that the client supports, asked by returning `inputRequired`; none within the worker. */
  clientCapabilities: ClientCapabilities;
  /** The client's unchecked answers to `inputRequired`, with which the method runs again. Absent the first time. */
  inputResponses?: InputResponses;
  /** The `requestState` that the method returned before, which no client can change. */
  requestState?: string;
  /** Reports progress to the caller; does nothing if the caller did not ask for it. Never throws. */
  reportProgress(progress: number, total?: number, message?: string): void;
  /** Notifies clients that have subscribed to the resource of the server. */
  resourceUpdated(uri: string): void;
}

/** Values of one server and user that may disappear at any time. */
export interface ToolCache {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, ttlMs: number): Promise<void>;
  delete(key: string): Promise<void>;
}

/** The cache of a tool server and user, for one call. */
export function scopedCache(cache: Cache | undefined, prefix: string, signal: AbortSignal): ToolCache {
  return {
    get: async (key) => cache?.get(prefix + key, signal),
    set: async (key, value, ttlMs) => cache?.set(prefix + key, value, ttlMs, signal),
    delete: async (key) => cache?.delete(prefix + key, signal),
  };
}
