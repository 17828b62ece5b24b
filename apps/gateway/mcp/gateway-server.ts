// The gateway as an MCP server, which lists, describes and calls tools. One instance serves one request, or one session of an
// older client, and has no state.
import {
  Server,
  type CallToolResult,
  type InputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { logFailure } from '#libs/logging/log-failure.js';
import type { Logger } from '#libs/logging/logger.js';
import { exchangeOf } from '#libs/mcp-server/endpoint/exchange.js';
import { leaveUnanswered } from '#libs/mcp-server/endpoint/leave-unanswered.js';
import { McpEndpoint, type McpEndpointLimits, type McpEndpointPorts } from '#libs/mcp-server/endpoint/mcp-endpoint.js';
import { toProtocolError } from '#libs/mcp-server/endpoint/rpc-error.js';
import { type AppError, toAppError } from '#libs/schemas/errors.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import type { CatalogOf, ToolPolicy } from '../govern/tool-policy.js';
import { listedNames } from './listed-names.js';
import { listPage, toMcpTool } from './list-tools.js';
import { runCall, type RunCallPorts, type ToolCallParams } from './run-call.js';
import { toolNotFound } from '../turn/dispatch/call-tool.js';

interface GatewayServerPorts extends RunCallPorts {
  /** The catalog of all tools, and that of each caller. */
  catalog: Pick<ToolCatalog, 'list'>;
  catalogOf: CatalogOf;
  logger: Logger;
  observeError: (error: AppError) => void;
}

export type GatewayEndpointPorts = GatewayServerPorts &
  Pick<McpEndpointPorts, 'onRefused' | 'onEvicted'> &
  Pick<ToolPolicy, 'onChange'>;

/** The HTTP endpoint that serves all eras. The writer of its streams must send keep-alives. */
export function openGatewayEndpoint(
  ports: GatewayEndpointPorts,
  limits: Omit<McpEndpointLimits, 'keepAliveMs'>,
): McpEndpoint {
  const newServer = () => createGatewayServer(ports);
  const onChange: McpEndpointPorts['onChange'] = (listener) =>
    ports.onChange(() => listener({ kind: 'tools_list_changed' }));
  return new McpEndpoint({ ...ports, newServer, onChange }, { ...limits, keepAliveMs: 0 });
}

const listParams = z.looseObject({ cursor: z.string().optional() });
const describeParams = z.looseObject({ name: z.string() });
const identity = { name: 'signalbox', version: '1' };

function createGatewayServer(ports: GatewayServerPorts): Server {
  const catalogOf = ({ http }: ServerContext) => ports.catalogOf(exchangeOf(http?.req).context);
  const server = new Server(identity, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler('tools/list', { params: listParams }, ({ cursor }, request) =>
    answer(ports, request, () => listPage(catalogOf(request).list(), { cursor, names: listedNames(ports.catalog) })),
  );
  server.setRequestHandler('tools/describe', { params: describeParams }, ({ name }, request) =>
    answer(ports, request, () => {
      const names = listedNames(ports.catalog);
      const tool = catalogOf(request).find(names.fromWire(name));
      if (tool === undefined) throw toolNotFound(name);
      return { tool: toMcpTool(tool, names) };
    }),
  );
  server.setRequestHandler('tools/call', ({ params }, request) => call(server, ports, params, request));
  return server;
}

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

/** Runs `work`; counts and logs its error, and converts the error to JSON-RPC's. */
async function answer<T>(ports: GatewayServerPorts, request: ServerContext, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const error = toAppError(thrown);
    const { context } = exchangeOf(request.http?.req);
    const { requestId } = context;
    ports.observeError(error);
    logFailure(ports.logger, error, context);
    throw toProtocolError(error, requestId);
  }
}
