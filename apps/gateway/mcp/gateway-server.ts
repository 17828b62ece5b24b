// The gateway as an MCP server, which lists, describes and calls tools, and serves resources and prompts. One instance serves one
// request, or one session of an older client, and has no state.
import { Server, type ServerEvent } from '@modelcontextprotocol/server';
import type { McpExchange } from '#libs/mcp-server/endpoint/exchange.js';
import { McpEndpoint, type McpEndpointLimits, type McpEndpointPorts } from '#libs/mcp-server/endpoint/mcp-endpoint.js';
import type { ChangedLists } from '../tools/tool-catalog.js';
import type { ToolPolicy } from '../govern/tool-policy.js';
import { joinedInstructions } from './offers/join-instructions.js';
import { type OfferPorts, serveOffers } from './offers/serve-offers.js';
import {
  endSubscriptions,
  listenToResources,
  serveSubscriptions,
  type SubscriptionPorts,
} from './offers/serve-subscriptions.js';
import { serveLogLevels } from './caller-of.js';
import { portsOfToolset } from './serve-toolset.js';
import { serveTools, type ToolPorts } from './serve-tools.js';
import { ResourceLinks } from './offers/resource-links.js';
import { serveTasks, taskCapabilities } from './tasks/serve-tasks.js';

interface GatewayServerPorts extends ToolPorts, OfferPorts, SubscriptionPorts {
  catalog: ToolPorts['catalog'] & SubscriptionPorts['catalog'];
  links: ResourceLinks;
}

export type GatewayEndpointPorts = Omit<GatewayServerPorts, 'links'> &
  Pick<McpEndpointPorts, 'onRefused' | 'onEvicted'> &
  Pick<ToolPolicy, 'onChange'>;

/** The HTTP endpoint that serves all eras. The writer of its streams must send keep-alives. */
export function openGatewayEndpoint(
  ports: GatewayEndpointPorts,
  limits: Omit<McpEndpointLimits, 'keepAliveMs'>,
): McpEndpoint {
  const serverPorts = { ...ports, links: new ResourceLinks() };
  return new McpEndpoint(
    {
      ...ports,
      newServer: (exchange) => createGatewayServer(portsOfToolset(serverPorts, exchange.toolset), exchange),
      onChange: (listener) => ports.onChange((changed) => changesOf(changed).forEach(listener)),
      followResources: (uris, exchange, onUpdated) =>
        listenToResources(portsOfToolset(serverPorts, exchange.toolset), uris, exchange, onUpdated),
      onSessionEnd: endSubscriptions,
    },
    { ...limits, keepAliveMs: 0 },
  );
}

function changesOf({ tools, resources, prompts }: ChangedLists): ServerEvent[] {
  return [
    ...(tools ? [{ kind: 'tools_list_changed' as const }] : []),
    ...(resources ? [{ kind: 'resources_list_changed' as const }] : []),
    ...(prompts ? [{ kind: 'prompts_list_changed' as const }] : []),
  ];
}

const capabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
  ...taskCapabilities,
};
const identity = { name: 'signalbox', version: '1' };

function createGatewayServer(ports: GatewayServerPorts, { context, mode }: McpExchange): Server {
  const instructions = joinedInstructions(ports, context);
  const offered = mode === 'search' ? { ...capabilities, tools: {} } : capabilities;
  const server = new Server(identity, {
    capabilities: offered,
    ...(instructions === undefined ? {} : { instructions }),
  });
  serveOffers(server, ports);
  serveSubscriptions(server, ports);
  serveLogLevels(server);
  serveTools(server, ports, mode);
  serveTasks(server, ports);
  return server;
}
