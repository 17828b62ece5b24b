// Creates the builtin MCP server `workspace` from its three groups of tools.
import type { Cache } from '#libs/backing/cache.js';
import type { Logger } from '#libs/logging/logger.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import type { ToolServer } from '#libs/mcp-server/tool-server.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';
import { FetchTool } from './fetch-tool.js';
import { FileTools } from './file-tools.js';
import { SearchTools } from './search-tools.js';

export interface WorkspaceServerOptions {
  workspaces: Workspaces;
  logger: Logger;
  cache?: Cache;
  /** `tools.max_result_bytes`: larger results are stored in a file. The tools stay below it. */
  maxResultBytes: number;
  /** `tools.fetch_allow` */
  fetchAllow: readonly string[];
}

/** Room for the hint at the end of a cut text. */
const hintBytes = 512;
const fetchTimeoutMs = 30_000;

export function createWorkspaceServer(options: WorkspaceServerOptions): ToolServer {
  const maxTextBytes = Math.max(1, options.maxResultBytes - hintBytes);
  const fetchTool = new FetchTool({
    allow: options.fetchAllow,
    maxTextBytes,
    maxBytes: options.workspaces.limits.maxBytes,
    timeoutMs: fetchTimeoutMs,
  });
  return createMcpServer([new FileTools(maxTextBytes), new SearchTools(maxTextBytes), fetchTool], {
    logger: options.logger,
    ...(options.cache === undefined ? {} : { cache: options.cache }),
    openWorkspace: (call) => options.workspaces.workspace({ id: call.sessionId, directory: call.workspaceDirectory }),
  });
}
