// The tool entry with which OpenAI's requests offer a server of ours, the same on chat completions and responses.
import { z } from 'zod';
import type { RequestedTool } from '../chat/turn-request.js';
import { notFromRequests } from './gateway-fields.js';

const toolNames = z.array(z.string().min(1).max(256)).max(1024);

export const mcpTool = z.looseObject({
  type: z.literal('mcp'),
  server_label: z.string().min(1).max(64),
  server_url: notFromRequests,
  connector_id: notFromRequests,
  allowed_tools: z.union([toolNames, z.looseObject({ tool_names: toolNames })]).nullish(),
  require_approval: z
    .literal('never', { error: 'approval is not available here yet; leave it out or say "never"' })
    .nullish(),
});

export function readMcpTool(tool: z.output<typeof mcpTool>): RequestedTool {
  const allowed = tool.allowed_tools ?? undefined;
  const allowedTools = Array.isArray(allowed) ? allowed : allowed?.tool_names;
  return { type: 'mcp', serverLabel: tool.server_label, ...(allowedTools === undefined ? {} : { allowedTools }) };
}
