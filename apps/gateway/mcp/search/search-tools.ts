// The three tools of `mode=search`, which take few tokens however many tools the catalog has: one finds tools, one describes a tool,
// and one stands for the call of any other. They run nothing themselves; what the first two do is a call as any.
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { problems } from '#libs/mcp-server/served-tool.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { EndedToolCall } from '../../turn/dispatch/call-tool.js';
import { toCallResult, toFailure } from '../call-result.js';
import type { ToolCallParams } from '../run-call.js';

const maxFound = 50;

const findInput = z.object({
  query: z.string().min(1).describe('What the tool should do, in a few words'),
  limit: z.int().min(1).max(maxFound).default(10),
});
const describeInput = z.object({ name: z.string() });
const callInput = z.object({
  name: z.string().describe('As find_tools gives it'),
  arguments: z.looseObject({}).optional().describe("As the tool's inputSchema says"),
});

const listed = (name: string, description: string, input: z.ZodObject): Tool => ({
  name,
  description,
  inputSchema: z.toJSONSchema(input, { io: 'input', target: 'draft-2020-12' }) as Tool['inputSchema'],
});
const readOnly = { annotations: { readOnlyHint: true } };

export const searchTools: readonly Tool[] = [
  {
    ...listed(
      'find_tools',
      'Finds tools by what they do. Gives their names, descriptions and input schemas.',
      findInput,
    ),
    ...readOnly,
  },
  { ...listed('describe_tool', 'Gives the whole definition of one tool.', describeInput), ...readOnly },
  {
    ...listed('call_tool', 'Calls a tool that find_tools has found.', callInput),
    execution: { taskSupport: 'optional' },
  },
];

export interface SearchedTools {
  /** Best first; only tools of the caller. */
  find(query: string, limit: number): Promise<Tool[]>;
  /** @throws AppError tool_not_found */
  describe(name: string): Tool;
  /** Runs a search as a call. */
  answer(call: ToolCallParams, work: () => Promise<ToolOutcome>): Promise<Omit<EndedToolCall, 'tool'>>;
}

/**
 * The result of a search; or the call of another tool, which a client that knows its name may also make directly.
 * @throws AppError tool_not_found
 */
export async function answerSearch(
  params: ToolCallParams,
  tools: SearchedTools,
): Promise<CallToolResult | ToolCallParams> {
  try {
    switch (params.name) {
      case 'find_tools':
        return toCallResult(
          await tools.answer(params, async () => {
            const { query, limit } = read(findInput, params);
            return toOutcome({ tools: (await tools.find(query, limit)).map(toFound) });
          }),
        );
      case 'describe_tool':
        return toCallResult(
          await tools.answer(params, async () => toOutcome({ tool: tools.describe(read(describeInput, params).name) })),
        );
      case 'call_tool':
        return read(callInput, { ...params, arguments: withObject(params.arguments) });
      default:
        return params;
    }
  } catch (error) {
    return toFailure(error);
  }
}

const toFound = ({ name, description, inputSchema }: Tool) => ({ name, description, inputSchema });

const toOutcome = (structured: Record<string, unknown>): ToolOutcome => ({
  state: 'completed',
  blocks: [{ type: 'text', text: JSON.stringify(structured) }],
  structuredContent: structured as JsonObject,
  durationMs: 0,
});

/** @throws AppError invalid_tool_arguments */
function read<Shape extends z.ZodObject>(input: Shape, { name, arguments: args = {} }: ToolCallParams): z.infer<Shape> {
  const parsed = input.safeParse(args);
  if (parsed.success) return parsed.data;
  throw new AppError('invalid_tool_arguments', `Invalid arguments: ${problems(parsed.error)}`, { toolName: name });
}

/** Models often write an object within an object as its JSON text, or nothing as null. */
function withObject(given: ToolCallParams['arguments']): ToolCallParams['arguments'] {
  const { arguments: inner, ...rest } = given ?? {};
  if (inner === null) return rest;
  if (typeof inner !== 'string') return given;
  try {
    return { ...rest, arguments: JSON.parse(inner) as unknown };
  } catch {
    return given;
  }
}
