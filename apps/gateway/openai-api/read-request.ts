// A chat-completions body as a TurnRequest, or one clear error that names the field at fault.
import type { z } from 'zod';
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { RequestedTool, TurnRequest } from '../chat/turn-request.js';
import { type ChatRequestBody, chatRequestSchema, forwardedParameters } from './chat-request.schema.js';

const known = new Set(Object.keys(chatRequestSchema.shape));

/** @throws AppError invalid_value, too_many_tools, reserved_name, request_too_large */
export function readChatRequest(body: unknown, dialect: TurnRequest['dialect'], limits: Config['limits']): TurnRequest {
  if (!isJsonObject(body)) throw new AppError('invalid_value', 'The body must be a JSON object', { param: 'body' });
  refuseOversized(body, limits);
  const parsed = chatRequestSchema.safeParse(withoutNulls(body));
  if (!parsed.success) throw invalid(parsed.error);
  const request = parsed.data;
  const tools = (request.tools ?? []).map((tool, index) => readTool(tool, index, limits));
  refuseDuplicates(tools);
  const messages = request.messages as unknown as ChatMessage[];
  refuseStrayResults(messages);
  if ((request.n ?? 1) > 1 && tools.length > 0) {
    throw new AppError('invalid_value', 'n above 1 cannot be combined with tools', { param: 'n' });
  }
  return {
    dialect,
    messages,
    tools,
    stream: request.stream ?? false,
    includeUsage: request.stream_options?.include_usage ?? false,
    parameters: pick(request),
    unknown: Object.fromEntries(Object.entries(request).filter(([key]) => !known.has(key))) as Record<string, Json>,
    onDisconnect: request.on_disconnect ?? 'cancel',
    priority: request.priority ?? 'interactive',
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(request.tool_choice === undefined ? {} : { toolChoice: readToolChoice(request.tool_choice) }),
    ...(request.parallel_tool_calls === undefined ? {} : { parallelToolCalls: request.parallel_tool_calls }),
    ...(request.session_id === undefined ? {} : { sessionId: request.session_id }),
    ...(request.tool_mode === undefined ? {} : { toolMode: request.tool_mode }),
    ...(request.max_tool_rounds === undefined ? {} : { maxToolRounds: request.max_tool_rounds }),
  };
}

/** Before the schema looks at every element: a hundred thousand messages are refused for their number. */
function refuseOversized(body: JsonObject, limits: Config['limits']): void {
  const { messages, tools } = body;
  if (Array.isArray(messages) && messages.length > limits.messages) {
    throw new AppError('invalid_value', `At most ${limits.messages} messages, got ${messages.length}`, {
      param: 'messages',
    });
  }
  if (Array.isArray(tools) && tools.length > limits.tools) {
    throw new AppError('too_many_tools', `At most ${limits.tools} tools, got ${tools.length}`, { param: 'tools' });
  }
}

/** `null` counts as absent for every optional field, of the request and of its messages. */
function withoutNulls(body: JsonObject): JsonObject {
  const request: JsonObject = {};
  for (const [key, value] of Object.entries(body)) {
    if (key !== '__proto__' && value !== null) request[key] = value;
  }
  if (Array.isArray(request['messages'])) request['messages'] = request['messages'].map(messageWithoutNulls);
  return request;
}

function messageWithoutNulls(message: Json): Json {
  if (!isJsonObject(message)) return message;
  const kept = Object.entries(message).filter(([key, value]) => key !== '__proto__' && value !== null);
  const read = Object.fromEntries(kept);
  // SDK message objects come back with `tool_calls: []` where the model called none.
  if (Array.isArray(read['tool_calls']) && read['tool_calls'].length === 0) delete read['tool_calls'];
  return read;
}

function invalid(error: z.ZodError): AppError {
  const issue = error.issues[0]!;
  const path = issue.path.map((key, at) =>
    typeof key === 'number' ? `[${key}]` : `${at === 0 ? '' : '.'}${String(key)}`,
  );
  const param = path.join('').slice(0, 256) || 'body';
  return new AppError('invalid_value', `${param}: ${issue.message}`.slice(0, 512), { param });
}

type BodyTool = NonNullable<ChatRequestBody['tools']>[number];

function readTool(tool: BodyTool, index: number, limits: Config['limits']): RequestedTool {
  if (tool.type === 'mcp') {
    const allowed = tool.allowed_tools ?? undefined;
    const allowedTools = Array.isArray(allowed) ? allowed : allowed?.tool_names;
    return { type: 'mcp', serverLabel: tool.server_label, ...(allowedTools === undefined ? {} : { allowedTools }) };
  }
  const { name, description, parameters, strict } = tool.function;
  if (name === 'approval_request') {
    throw new AppError('reserved_name', "The tool name 'approval_request' is reserved", {
      param: `tools[${index}].function.name`,
      toolName: name,
    });
  }
  const schema = (parameters ?? undefined) as JsonObject | undefined;
  if (schema !== undefined) refuseLargeSchema(schema, `tools[${index}].function.parameters`, limits);
  return {
    type: 'function',
    definition: {
      name,
      ...(typeof description === 'string' ? { description } : {}),
      ...(schema === undefined ? {} : { parameters: schema }),
      ...(typeof strict === 'boolean' ? { strict } : {}),
    },
  };
}

function refuseLargeSchema(schema: JsonObject, param: string, limits: Config['limits']): void {
  const size = Buffer.byteLength(JSON.stringify(schema));
  if (size > limits.tool_schema_bytes) {
    throw new AppError('invalid_value', `A tool schema may have ${limits.tool_schema_bytes} bytes, this has ${size}`, {
      param,
    });
  }
  if (depthOf(schema) > limits.tool_schema_depth) {
    throw new AppError('invalid_value', `A tool schema may be ${limits.tool_schema_depth} levels deep`, { param });
  }
}

/** Bounded by the body's own depth. */
function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  let deepest = 0;
  for (const member of Object.values(value)) deepest = Math.max(deepest, depthOf(member));
  return deepest + 1;
}

function refuseDuplicates(tools: RequestedTool[]): void {
  const seen = new Set<string>();
  tools.forEach((tool, index) => {
    if (tool.type !== 'function') return;
    const { name } = tool.definition;
    if (seen.has(name)) {
      throw new AppError('invalid_value', `Tool '${name}' stands there twice`, {
        param: `tools[${index}].function.name`,
      });
    }
    seen.add(name);
  });
}

/** A tool message answers a call of an assistant message before it. */
function refuseStrayResults(messages: readonly ChatMessage[]): void {
  const called = new Set<string>();
  messages.forEach((message, index) => {
    if (message.role === 'assistant') for (const call of message.tool_calls ?? []) called.add(call.id);
    if (message.role === 'tool' && !called.has(message.tool_call_id)) {
      throw new AppError('invalid_value', 'This tool message answers no call of an assistant message before it', {
        param: `messages[${index}].tool_call_id`,
      });
    }
  });
}

function readToolChoice(choice: NonNullable<ChatRequestBody['tool_choice']>): TurnRequest['toolChoice'] {
  return typeof choice === 'string' ? choice : { name: choice.function.name };
}

function pick(request: ChatRequestBody): JsonObject {
  const parameters: JsonObject = {};
  for (const key of forwardedParameters) {
    const value = request[key];
    if (value !== undefined) parameters[key] = value as Json;
  }
  // A label for our own rows; OpenAI itself refuses it unless the answer is stored there.
  if (request['store'] !== true) delete parameters['metadata'];
  return parameters;
}
