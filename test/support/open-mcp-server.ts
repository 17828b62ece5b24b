// The MCP endpoint on its own port, with a gateway's real tool side, and a record of what happened.
import { silentLogger } from '#libs/logging/logger.js';
import { McpController } from '../../apps/gateway/http/mcp/mcp.controller.js';
import { openGatewayEndpoint } from '../../apps/gateway/mcp/gateway-server.js';
import { McpEndpoint } from '#libs/mcp-server/endpoint/mcp-endpoint.js';
import { openHttpServer, type OpenHttpServer } from './open-http-server.js';
import type { Services, TestGateway } from './queue-path.js';

export interface OpenMcpServer extends OpenHttpServer {
  /** Error codes that callers received. */
  errors: string[];
  /** Every session that a request named. */
  sessions: Set<string>;
}

export async function openMcpServer(
  services: Services,
  { catalog, policy: { catalogOf, mayUse, onChange }, calls, offerRequests, followers, approvals, tasks }: TestGateway,
): Promise<OpenMcpServer> {
  const errors: string[] = [];
  const sessions = new Set<string>();
  const endpoint = openGatewayEndpoint(
    {
      catalog,
      catalogOf,
      mayUse,
      offerRequests,
      followers,
      onChange,
      calls,
      approvals,
      tasks,
      logger: silentLogger,
      observeError: ({ code }) => errors.push(code),
      onRefused: () => undefined,
      onEvicted: () => undefined,
    },
    { sessions: 100, sessionIdleMs: 60_000, subscriptions: 100 },
  );
  const answer = endpoint.answer.bind(endpoint);
  endpoint.answer = (request, ...rest) => {
    const session = request.headers.get('mcp-session-id');
    if (session !== null) sessions.add(session);
    return answer(request, ...rest);
  };
  const server = await openHttpServer(services, [McpController], [{ provide: McpEndpoint, useValue: endpoint }]);
  const close = async () => {
    await server.app.get(McpController).close();
    await server.close();
  };
  return { ...server, errors, sessions, close };
}
