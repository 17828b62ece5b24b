// A tool as a server lists and runs it. Creates the JSON Schema once; converts the method's return value or error to an MCP
// result, without stacks, paths and messages of unknown errors.
import { z } from 'zod';
import {
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  type Tool,
} from '@modelcontextprotocol/server';
import { AppError, isToolErrorCode, type ErrorCode, type ToolErrorCode } from '#libs/schemas/errors.js';
import {
  errorCodeMetaKey,
  toolMetadataMetaKey,
  toolReadOnlyWhenMetaKey,
  toolReadsFileMetaKey,
  toolSessionlessMetaKey,
  toolTimeoutMetaKey,
} from './call-meta.js';
import type { McpToolOptions, ToolReturn } from './decorators.js';
import type { ToolContext } from './tool-context.js';

export interface ToolHandler {
  (input: Record<string, unknown>, context: ToolContext): ToolReturn | Promise<ToolReturn>;
}

export interface ServedTool {
  name: string;
  /** Where the tool was declared, for the error about a second one: `ClockTools.getTime`. */
  place: string;
  options: McpToolOptions;
  handler: ToolHandler;
  listed: Tool;
}

/** @throws Error naming the tool if its schema cannot be expressed as JSON Schema. */
export function serveTool(tool: Omit<ServedTool, 'listed'>): ServedTool {
  const { options } = tool;
  const meta = {
    ...(options.metadata === undefined ? {} : { [toolMetadataMetaKey]: options.metadata }),
    ...(options.timeoutMs === undefined ? {} : { [toolTimeoutMetaKey]: options.timeoutMs }),
    ...(options.readOnlyWhen === undefined ? {} : { [toolReadOnlyWhenMetaKey]: options.readOnlyWhen }),
    ...(options.sessionless === true ? { [toolSessionlessMetaKey]: true } : {}),
    ...(options.readsFile === undefined ? {} : { [toolReadsFileMetaKey]: options.readsFile }),
  };
  const listed = {
    name: tool.name,
    description: options.description,
    inputSchema: jsonSchema(tool, options.input, 'input'),
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
    ...(options.output === undefined ? {} : { outputSchema: jsonSchema(tool, options.output, 'output') }),
    ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  } as Tool;
  return { ...tool, listed };
}

function jsonSchema(tool: { name: string; place: string }, schema: z.ZodObject, io: 'input' | 'output'): object {
  try {
    return z.toJSONSchema(schema, { io, target: 'draft-2020-12' });
  } catch (error) {
    throw new Error(`Tool '${tool.name}' (${tool.place}): its ${io} cannot be written as JSON Schema`, {
      cause: error,
    });
  }
}

/** Checks the arguments, runs the method, checks its result. @throws the method's errors, AppError for the checks. */
export async function runServedTool(
  tool: ServedTool,
  args: unknown,
  context: ToolContext,
): Promise<CallToolResult | InputRequiredResult> {
  const input = tool.options.input.safeParse(args ?? {});
  if (!input.success) {
    throw new AppError('invalid_tool_arguments', `Invalid arguments: ${problems(input.error)}`, {
      toolName: tool.name,
      cause: input.error,
    });
  }
  const handled = tool.handler(input.data, context);
  // Most tools answer at once, and an `await` would cost time.
  const returned = isThenable(handled) ? await handled : handled;
  if (isInputRequiredResult(returned)) return returned;
  const result = toResult(returned);
  if (tool.options.output !== undefined && result.isError !== true) {
    const output = tool.options.output.safeParse(result.structuredContent);
    if (!output.success) {
      throw new AppError(
        'invalid_tool_result',
        `The tool's result does not match its output schema: ${problems(output.error)}`,
      );
    }
  }
  return result;
}

const isThenable = (returned: ToolReturn | Promise<ToolReturn>): returned is Promise<ToolReturn> =>
  typeof returned === 'object' && returned !== null && 'then' in returned;

const maxProblems = 10;

export function problems(error: z.ZodError): string {
  return error.issues
    .slice(0, maxProblems)
    .map((issue) => (issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`))
    .join('; ');
}

function toResult(returned: ToolReturn): CallToolResult {
  if (typeof returned === 'string') return { content: [{ type: 'text', text: returned }] };
  if ('content' in returned && Array.isArray(returned.content)) {
    const { content, structuredContent } = returned;
    if (content.length > 0 || structuredContent === undefined) return returned;
    return { ...returned, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] };
  }
  const structured = JSON.parse(JSON.stringify(returned)) as Record<string, unknown>;
  return { content: [{ type: 'text', text: JSON.stringify(structured) }], structuredContent: structured };
}

/** Codes of the HTTP API that tools can also fail with, mapped to tool error codes. */
const asToolCode: Partial<Record<ErrorCode, ToolErrorCode>> = { invalid_value: 'invalid_tool_arguments' };

export function toolErrorCode(error: unknown): ToolErrorCode {
  if (!(error instanceof AppError)) return 'tool_failed';
  return isToolErrorCode(error.code) ? error.code : (asToolCode[error.code] ?? 'tool_failed');
}

export function failedResult(error: unknown): CallToolResult {
  const text = error instanceof AppError && error.code !== 'internal_error' ? error.message : 'The tool failed';
  return { content: [{ type: 'text', text }], isError: true, _meta: { [errorCodeMetaKey]: toolErrorCode(error) } };
}
