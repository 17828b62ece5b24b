// Lists the tools of a request's servers as `mcp_list_tools` items, which OpenAI sends at the start of a response.
import type { JsonObject } from '#libs/schemas/json.js';
import type { TurnRequest } from '../turn/turn-request.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import type { WireMcpListTools } from './wire-types.js';

export function listServers(runId: string, turn: TurnRequest, catalog: ToolCatalog): WireMcpListTools[] {
  // A continued conversation already has the list, and in manual mode the gateway runs no tools.
  if (turn.history !== undefined || turn.toolMode === 'manual') return [];
  return turn.tools.flatMap((requested, index) => {
    if (requested.type !== 'mcp') return [];
    const { serverLabel, allowedTools } = requested;
    const allowed = allowedTools === undefined ? undefined : new Set(allowedTools);
    const tools = catalog
      .list(serverLabel === '*' ? undefined : serverLabel)
      .filter((tool) => allowed === undefined || allowed.has(tool.name) || allowed.has(tool.tool))
      .map((tool) => ({
        name: tool.name,
        description: tool.description,
        input_schema: tool.inputSchema,
        annotations: tool.annotations as unknown as JsonObject,
      }));
    const id = `mcpl_${runId.slice('run_'.length)}${index.toString(16).padStart(4, '0')}`;
    return [{ type: 'mcp_list_tools' as const, id, server_label: serverLabel, tools }];
  });
}
