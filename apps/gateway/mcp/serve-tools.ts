// Serves the tools of the catalog to an MCP client: their list, or the tools that search them, and calls of either.
import type { CallToolResult, InputRequiredResult, Server, ServerContext, Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { exchangeOf, type McpExchange } from '#libs/mcp-server/endpoint/exchange.js';
import { leaveUnanswered } from '#libs/mcp-server/endpoint/leave-unanswered.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { appExtension, isForModels } from '#libs/mcp-server/tool-app.js';
import type { CatalogOf } from '../govern/tool-policy.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import { realTool } from '../tools/tool-of-call.js';
import { toolNotFound } from '../turn/dispatch/call-tool.js';
import { listedTools } from '../turn/offer/listed-tools.js';
import { answer, type AnswerPorts } from './answer-request.js';
import { callerOf, cancelSignal } from './caller-of.js';
import { listedNames } from './listed-names.js';
import { type ListedNaming, listPage, toMcpTool } from './list-tools.js';
import { shownAppMeta } from './offers/app-resources.js';
import type { OfferPorts } from './offers/serve-offers.js';
import { pageOf } from './page-of.js';
import { runCall, type RunCallPorts, type ToolCallParams } from './run-call.js';
import { answerSearch, searchTools } from './search/search-tools.js';
import { type TaskParams, taskWish, wishFor } from './tasks/task-wish.js';

export interface ToolPorts extends RunCallPorts, AnswerPorts {
  /** The catalog of everything, and the tools of each caller. */
  catalog: OfferPorts['catalog'] & Pick<ToolCatalog, 'list' | 'find'>;
  catalogOf: CatalogOf;
}

const listParams = z.looseObject({ cursor: z.string().optional() });
const describeParams = z.looseObject({ name: z.string() });

export function serveTools(server: Server, ports: ToolPorts, mode: McpExchange['mode']): void {
  const searches = mode === 'search';
  server.setRequestHandler('tools/list', { params: listParams }, ({ cursor }, request) =>
    answer(ports, request, () => {
      if (searches) {
        const { shown, next } = pageOf(searchTools, { cursor, nameOf: ({ name }) => name });
        return { tools: [...shown], ...next };
      }
      const tools = catalogFor(ports, request).list();
      const shown = showsApps(server) ? tools : listedTools(tools).forModels;
      return listPage(shown, { cursor, ...naming(ports) });
    }),
  );
  server.setRequestHandler('tools/describe', { params: describeParams }, ({ name }, request) =>
    answer(ports, request, () => ({ tool: describe(ports, request, name) })),
  );
  server.setRequestHandler('tools/call', async ({ params }, request) => {
    const { transport } = server;
    try {
      return await answer(ports, request, () => call(params, searches, { server, ports, request }));
    } finally {
      const { signal, id } = request.mcpReq;
      if (signal.aborted) leaveUnanswered(transport, id);
    }
  });
}

/** A call of `call_tool` is a call of the tool that it names, and of nothing else: whatever judges, runs and records it sees that. */
async function call(
  params: ToolCallParams & TaskParams,
  searches: boolean,
  { server, ports, request }: { server: Server; ports: ToolPorts; request: ServerContext },
): Promise<CallToolResult | InputRequiredResult> {
  const wanted = searches
    ? await answerSearch(params, {
        find: (query, limit) => find(ports, request, { query, limit }),
        describe: (name) => describe(ports, request, name),
        answer: ({ name, arguments: args = {} }, work) => {
          const { caller, sessionId } = callerOf({ server, request });
          return ports.calls.answer({ name, sessionId, arguments: args as JsonObject }, caller, work);
        },
      })
    : params;
  if ('content' in wanted) return wanted;
  const name = listedNames(ports.catalog).fromWire(wanted.name);
  const asking = { server, request };
  const wish = taskWish(params, asking);
  // What is not there for the caller is refused as in any call.
  const tool = wish && catalogFor(ports, request).find(name);
  if (tool === undefined) return runCall(ports, { name, arguments: wanted.arguments }, asking);
  const asked = { name: realTool(tool).name, arguments: wanted.arguments };
  return runCall(ports, asked, asking, wishFor(tool, wish!));
}

async function find(
  ports: ToolPorts,
  request: ServerContext,
  { query, limit }: { query: string; limit: number },
): Promise<Tool[]> {
  const named = naming(ports);
  const signal = cancelSignal(request, exchangeOf(request.http?.req));
  const options = { limit, isShown: isForModels, signal };
  const found = await catalogFor(ports, request).search(query, options);
  return found.map((tool) => toMcpTool(tool, named));
}

/** @throws AppError tool_not_found */
function describe(ports: ToolPorts, request: ServerContext, name: string): Tool {
  const named = naming(ports);
  const tool = catalogFor(ports, request).find(named.names.fromWire(name));
  if (tool === undefined) throw toolNotFound(name);
  return toMcpTool(tool, named);
}

const catalogFor = ({ catalogOf }: ToolPorts, { http }: ServerContext): ToolCatalog =>
  catalogOf(exchangeOf(http?.req).context);

/** Tools for apps only are kept from clients that would show them to their models. */
const showsApps = (server: Server): boolean => server.getClientCapabilities()?.extensions?.[appExtension] !== undefined;

const naming = ({ catalog }: Pick<ToolPorts, 'catalog'>): ListedNaming => ({
  names: listedNames(catalog),
  appMetaOf: (tool) => shownAppMeta(tool, catalog),
});
