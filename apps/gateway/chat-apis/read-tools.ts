// Reads and checks the function tools of a request, the same for all chat APIs.
import type { Config } from '#libs/config/schema.js';
import { mendSchema } from '#libs/json-schema/mend-schema.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage, ToolMessage } from '#libs/schemas/message.js';
import { reservedNames } from '#libs/waits/wait-kinds.js';
import type { RequestedTool } from '../turn/turn-request.js';

export interface GivenFunction {
  name: string;
  description?: string | null | undefined;
  parameters?: Record<string, unknown> | null | undefined;
  strict?: boolean | null | undefined;
}

/** The paths of a function's members in the request, for errors. */
export interface FunctionPaths {
  name: string;
  parameters: string;
}

/** @throws AppError reserved_name, invalid_value */
export function readFunction(given: GivenFunction, paths: FunctionPaths, limits: Config['limits']): RequestedTool {
  const { name, description, parameters, strict } = given;
  if (reservedNames.includes(name)) {
    throw new AppError('reserved_name', `The tool name '${name}' is reserved`, {
      param: paths.name,
      toolName: name,
    });
  }
  const schema = (parameters ?? undefined) as JsonObject | undefined;
  if (schema !== undefined) refuseLargeSchema(schema, paths.parameters, limits);
  return {
    type: 'function',
    definition: {
      name,
      ...(typeof description === 'string' ? { description } : {}),
      ...(schema === undefined ? {} : { parameters: mendedOrGiven(schema) }),
      ...(typeof strict === 'boolean' ? { strict } : {}),
    },
  };
}

/** The mended schema; a schema that cannot be mended stays, for the provider to judge. */
function mendedOrGiven(schema: JsonObject): JsonObject {
  const mended = mendSchema(schema);
  return 'schema' in mended ? mended.schema : schema;
}

function refuseLargeSchema(schema: JsonObject, param: string, limits: Config['limits']): void {
  const size = Buffer.byteLength(JSON.stringify(schema));
  if (size > limits.tool_schema_bytes) {
    const message = `A tool schema may have at most ${limits.tool_schema_bytes} bytes, this one has ${size}`;
    throw new AppError('invalid_value', message, { param });
  }
  if (depthOf(schema) > limits.tool_schema_depth) {
    throw new AppError('invalid_value', `A tool schema may be at most ${limits.tool_schema_depth} levels deep`, {
      param,
    });
  }
}

/** The depth of the body is already bounded. */
function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  let deepest = 0;
  for (const member of Object.values(value)) deepest = Math.max(deepest, depthOf(member));
  return deepest + 1;
}

/** @throws AppError invalid_value */
export function refuseTwice(tools: readonly RequestedTool[], pathOfName: (index: number) => string): void {
  if (tools.length < 2) return;
  const seen = new Set<string>();
  tools.forEach((tool, index) => {
    if (tool.type !== 'function') return;
    const { name } = tool.definition;
    if (seen.has(name)) {
      throw new AppError('invalid_value', `There are two tools named '${name}'`, { param: pathOfName(index) });
    }
    seen.add(name);
  });
}

/** Every result must belong to a call of an assistant message before it. @throws AppError invalid_value */
export function refuseStrayResults(
  messages: readonly ChatMessage[],
  pathOf: (result: ToolMessage, index: number) => string,
): void {
  if (!messages.some(({ role }) => role === 'tool')) return;
  const called = new Set<string>();
  messages.forEach((message, index) => {
    if (message.role === 'assistant') for (const call of message.tool_calls ?? []) called.add(call.id);
    if (message.role === 'tool' && !called.has(message.tool_call_id)) {
      const text = 'This result does not answer a call of an earlier assistant message';
      throw new AppError('invalid_value', text, { param: pathOf(message, index) });
    }
  });
}
