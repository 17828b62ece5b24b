// The MCP endpoint on a port of its own, before a gateway's real tool side, and what it was seen to do.
import { silentLogger } from '#libs/logging/logger.js';
import { McpController } from '../../apps/gateway/http/mcp.controller.js';
import { SseController } from '../../apps/gateway/http/sse.controller.js';
import { openGatewayEndpoint } from '../../apps/gateway/mcp/gateway-endpoint.js';
import { McpDoor } from '../../apps/gateway/http/mcp-door.js';
import { McpEndpoint } from '#libs/mcp-server/endpoint/mcp-endpoint.js';
import { openDoor, type OpenDoor } from './open-door.js';
import type { Services, TestGateway } from './queue-path.js';

export interface OpenMcpDoor extends OpenDoor {
  /** Codes of the errors that callers were shown. */
  errors: string[];
  /** Every session that a request has named. */
  sessions: Set<string>;
}

export async function openMcpDoor(
  services: Services,
  { policy: { catalogOf, onChange }, calls }: TestGateway,
): Promise<OpenMcpDoor> {
  const errors: string[] = [];
  const sessions = new Set<string>();
  const endpoint = openGatewayEndpoint(
    {
      catalogOf,
      onChange,
      calls,
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
  const door = await openDoor(
    services,
    [McpController, SseController],
    [{ provide: McpEndpoint, useValue: endpoint }, McpDoor],
  );
  const close = async () => {
    await door.app.get(McpDoor).close();
    await door.close();
  };
  return { ...door, errors, sessions, close };
}
