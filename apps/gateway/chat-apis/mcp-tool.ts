// The entry of `tools` that offers a configured server, for chat completions and responses.
import { z } from 'zod';
import type { ChosenServer, RequestedTool, ToolSelector } from '../turn/turn-request.js';
import { notFromRequests } from './gateway-fields.js';

const toolNames = z.array(z.string().min(1).max(256)).max(1024);
const toolFilter = z.looseObject({ tool_names: toolNames.nullish(), read_only: z.boolean().nullish() });

export const mcpTool = z.looseObject({
  type: z.literal('mcp'),
  server_label: z.string().min(1).max(64),
  server_url: notFromRequests,
  connector_id: notFromRequests,
  allowed_tools: z.union([toolNames, z.looseObject({ tool_names: toolNames })]).nullish(),
  require_approval: z
    .union([z.enum(['always', 'never']), z.looseObject({ always: toolFilter.nullish(), never: toolFilter.nullish() })])
    .nullish(),
});

/** In `tool_choice`: a tool of a server, or any of them. */
export const mcpChoice = z.looseObject({
  type: z.literal('mcp'),
  server_label: z.string().min(1).max(64),
  name: z.string().min(1).max(256).nullish(),
});

export const readMcpChoice = ({ server_label: server, name }: z.output<typeof mcpChoice>): ChosenServer => ({
  server,
  name: name ?? undefined,
});

type McpTool = z.output<typeof mcpTool>;
type McpServer = Extract<RequestedTool, { type: 'mcp' }>;

export function readMcpTool(tool: McpTool): RequestedTool {
  const allowed = tool.allowed_tools ?? undefined;
  return {
    type: 'mcp',
    serverLabel: tool.server_label,
    allowedTools: Array.isArray(allowed) ? allowed : allowed?.tool_names,
    requireApproval: readRequireApproval(tool.require_approval),
  };
}

function readRequireApproval(asked: McpTool['require_approval']): McpServer['requireApproval'] {
  if (asked == null || asked === 'never') return undefined;
  if (asked === 'always') return 'always';
  const { always, never } = asked;
  return { always: always ? readFilter(always) : undefined, never: never ? readFilter(never) : undefined };
}

function readFilter({ tool_names: toolNames, read_only: readOnly }: z.output<typeof toolFilter>): ToolSelector {
  return { toolNames: toolNames ?? undefined, readOnly: readOnly ?? undefined };
}
