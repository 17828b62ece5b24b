// What a tool of Chimech receives besides its input.
import type { Logger } from '#libs/logging/logger.js';
import type { ToolCache, ToolContext } from '#libs/mcp-server/tool-context.js';
import type { ApiClient } from '../api/api-client.js';
import type { Language } from '../language.js';

export interface ChimechContext {
  requestId: string;
  /** The key of the caller, or its principal where the worker serves the tools. */
  userId?: string;
  /** The MCP session, or the session of the chat. */
  sessionId?: string;
  /** What the caller is answered in. */
  language: Language;
  apiClient: ApiClient;
  logger: Logger;
  /** Of this tool and caller. */
  cache: ToolCache;
  signal: AbortSignal;
  progress: ToolContext['reportProgress'];
}
