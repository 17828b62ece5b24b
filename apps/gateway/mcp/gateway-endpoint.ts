// The gateway's tools behind the HTTP endpoint that serves all eras.
import { McpEndpoint, type McpEndpointLimits, type McpEndpointPorts } from '#libs/mcp-server/endpoint/mcp-endpoint.js';
import type { ToolPolicy } from '../govern/tool-policy.js';
import { createGatewayServer, type GatewayServerPorts } from './gateway-server.js';

export type GatewayEndpointPorts = GatewayServerPorts &
  Pick<McpEndpointPorts, 'onRefused' | 'onEvicted'> &
  Pick<ToolPolicy, 'onChange'>;

/** Whoever writes its streams to the clients keeps them alive. */
export function openGatewayEndpoint(
  ports: GatewayEndpointPorts,
  limits: Omit<McpEndpointLimits, 'keepAliveMs'>,
): McpEndpoint {
  return new McpEndpoint(
    {
      ...ports,
      newServer: () => createGatewayServer(ports),
      onToolsChanged: (listener) => ports.onChange(listener),
    },
    { ...limits, keepAliveMs: 0 },
  );
}
