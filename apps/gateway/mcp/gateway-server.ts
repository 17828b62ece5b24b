// The gateway as an MCP server, which lists, describes and calls tools, and serves resources and prompts. One instance serves one
// request, or one session of an older client, and has no state.
import {
  Server,
  type CallToolResult,
  type InputRequiredResult,
  type ServerContext,
  type ServerEvent,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { exchangeOf, type McpExchange } from '#libs/mcp-server/endpoint/exchange.js';
import { leaveUnanswered } from '#libs/mcp-server/endpoint/leave-unanswered.js';
import { McpEndpoint, type McpEndpointLimits, type McpEndpointPorts } from '#libs/mcp-server/endpoint/mcp-endpoint.js';
import { appExtension, isForModels } from '#libs/mcp-server/tool-app.js';
import type { ChangedLists, ToolCatalog } from '../tools/tool-catalog.js';
import type { CatalogOf, ToolPolicy } from '../govern/tool-policy.js';
import { answer } from './answer-request.js';
import { shownAppMeta } from './offers/app-resources.js';
import { joinedInstructions } from './offers/join-instructions.js';
import { type OfferPorts, serveOffers } from './offers/serve-offers.js';
import {
  endSubscriptions,
  listenToResources,
  serveSubscriptions,
  type SubscriptionPorts,
} from './offers/serve-subscriptions.js';
import { serveLogLevels } from './caller-of.js';
import { listedNames } from './listed-names.js';
import { type ListedNaming, listPage, toMcpTool } from './list-tools.js';
import { portsOfToolset } from './serve-toolset.js';
import { runCall, type RunCallPorts, type ToolCallParams } from './run-call.js';
import { ResourceLinks } from './offers/resource-links.js';
import { toolNotFound } from '../turn/dispatch/call-tool.js';

interface GatewayServerPorts extends RunCallPorts, OfferPorts, SubscriptionPorts {
  /** The catalog of everything, and the tools of each caller. */
  catalog: Pick<ToolCatalog, 'list' | 'find'> & OfferPorts['catalog'];
  catalogOf: CatalogOf;
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

const listParams = z.looseObject({ cursor: z.string().optional() });
const describeParams = z.looseObject({ name: z.string() });
const capabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};
const identity = { name: 'signalbox', version: '1' };

function createGatewayServer(ports: GatewayServerPorts, { context }: McpExchange): Server {
  const catalogOf = ({ http }: ServerContext) => ports.catalogOf(exchangeOf(http?.req).context);
  const instructions = joinedInstructions(ports, context);
  const server = new Server(identity, { capabilities, ...(instructions === undefined ? {} : { instructions }) });
  serveOffers(server, ports);
  serveSubscriptions(server, ports);
  serveLogLevels(server);
  server.setRequestHandler('tools/list', { params: listParams }, ({ cursor }, request) =>
    answer(ports, request, () => {
      const tools = catalogOf(request).list();
      const shown = showsApps(server) ? tools : tools.filter(isForModels);
      return listPage(shown, { cursor, ...naming(ports) });
    }),
  );
  server.setRequestHandler('tools/describe', { params: describeParams }, ({ name }, request) =>
    answer(ports, request, () => {
      const { names, appMetaOf } = naming(ports);
      const tool = catalogOf(request).find(names.fromWire(name));
      if (tool === undefined) throw toolNotFound(name);
      return { tool: toMcpTool(tool, { names, appMetaOf }) };
    }),
  );
  server.setRequestHandler('tools/call', ({ params }, request) => call(server, ports, params, request));
  return server;
}

/** Tools for apps only are kept from clients that would show them to their models. */
const showsApps = (server: Server): boolean => server.getClientCapabilities()?.extensions?.[appExtension] !== undefined;

const naming = ({ catalog }: Pick<GatewayServerPorts, 'catalog'>): ListedNaming => ({
  names: listedNames(catalog),
  appMetaOf: (tool) => shownAppMeta(tool, catalog),
});

async function call(
  server: Server,
  ports: GatewayServerPorts,
  params: ToolCallParams,
  request: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  const { transport } = server;
  try {
    const name = listedNames(ports.catalog).fromWire(params.name);
    return await answer(ports, request, () => runCall(ports, { ...params, name }, { server, request }));
  } finally {
    const { signal, id } = request.mcpReq;
    if (signal.aborted) leaveUnanswered(transport, id);
  }
}
