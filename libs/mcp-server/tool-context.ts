// What a tool's method is handed beside its parsed input.
import type { Logger } from '#libs/logging/logger.js';
import type { Workspace } from '#libs/workspace/workspace.js';

export interface ToolContext {
  requestId: string;
  /** The principal that asks; `anonymous` where the transport told none. */
  userId: string;
  /** Of the caller's session, or of the MCP session over HTTP; absent where there is none. */
  sessionId?: string;
  /** The session's files. Throws tool_unavailable where the call has none. */
  readonly workspace: Workspace;
  logger: Logger;
  cache: ToolCache;
  /** Aborts when the caller cancels, is gone, or the tool's time is over. */
  signal: AbortSignal;
  /** Tells the caller how far it is; does nothing for callers that did not ask. Never throws. */
  reportProgress(progress: number, total?: number, message?: string): void;
}

/** Values of one server and user that may be gone at any time. */
export interface ToolCache {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, ttlMs: number): Promise<void>;
  delete(key: string): Promise<void>;
}
