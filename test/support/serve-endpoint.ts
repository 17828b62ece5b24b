// The MCP endpoint over a server of the test, and what its bounds refused or ended, in order.
import { silentLogger } from '#libs/logging/logger.js';
import { McpEndpoint, type McpEndpointLimits } from '#libs/mcp-server/endpoint/mcp-endpoint.js';
import type { ToolServer } from '#libs/mcp-server/tool-server.js';

export function serveEndpoint(server: ToolServer, limits: Partial<McpEndpointLimits> = {}) {
  const refused: string[] = [];
  const endpoint = new McpEndpoint(
    {
      newServer: () => server.newServer(),
      onListsChanged: (listener) => server.attach({ onToolsChanged: () => listener({ tools: true }) }),
      logger: silentLogger,
      observeError: () => undefined,
      onRefused: (limit) => refused.push(limit),
      onEvicted: () => refused.push('evicted'),
    },
    { sessions: 10, sessionIdleMs: 60_000, subscriptions: 10, keepAliveMs: 0, ...limits },
  );
  return { endpoint, refused };
}
