// Reads the body of a chat completions request as a TurnRequest. An error names the invalid field.
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { RequestedTool, TurnRequest } from '../chat/turn-request.js';
import { gatewayOptions } from '../chat-apis/gateway-fields.js';
import { invalidValue, refuseTooMany, requireObject, withoutNulls } from '../chat-apis/invalid-value.js';
import { readMcpTool } from '../chat-apis/mcp-tool.js';
import { readFunction, refuseStrayResults, refuseTwice } from '../chat-apis/read-tools.js';
import { type ChatRequestBody, chatRequestSchema, forwardedParameters } from './chat-request.schema.js';

const known = new Set(Object.keys(chatRequestSchema.shape));

/** @throws AppError invalid_value, too_many_tools, reserved_name, request_too_large */
export function readChatRequest(body: unknown, dialect: TurnRequest['dialect'], limits: Config['limits']): TurnRequest {
  const given = requireObject(body);
  refuseTooMany(given['messages'], limits.messages, 'messages');
  refuseTooMany(given['tools'], limits.tools, 'tools');
  const parsed = chatRequestSchema.safeParse(readable(given));
  if (!parsed.success) throw invalidValue(parsed.error);
  const request = parsed.data;
  const tools = (request.tools ?? []).map((tool, index) => readTool(tool, index, limits));
  refuseTwice(tools, (index) => `tools[${index}].function.name`);
  const messages = request.messages as unknown as ChatMessage[];
  refuseStrayResults(messages, (_result, index) => `messages[${index}].tool_call_id`);
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
    unknown: unknownMembers(request),
    ...gatewayOptions(request, dialect === 'events' && request.stream === true),
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(request.tool_choice === undefined ? {} : { toolChoice: readToolChoice(request.tool_choice) }),
    ...(request.parallel_tool_calls === undefined ? {} : { parallelToolCalls: request.parallel_tool_calls }),
  };
}

/** `null` counts as absent in every optional field of the request and its messages. */
function readable(body: JsonObject): JsonObject {
  const request = withoutNulls(body);
  if (Array.isArray(request['messages'])) request['messages'] = request['messages'].map(messageWithoutNulls);
  return request;
}

function messageWithoutNulls(message: Json): Json {
  if (!isJsonObject(message)) return message;
  const read = withoutNulls(message);
  // Clients that send back an SDK's message object may have `tool_calls: []` in it.
  if (Array.isArray(read['tool_calls']) && read['tool_calls'].length === 0) delete read['tool_calls'];
  return read;
}

type BodyTool = NonNullable<ChatRequestBody['tools']>[number];

function readTool(tool: BodyTool, index: number, limits: Config['limits']): RequestedTool {
  if (tool.type === 'mcp') return readMcpTool(tool);
  const at = `tools[${index}].function`;
  return readFunction(tool.function, { name: `${at}.name`, parameters: `${at}.parameters` }, limits);
}

function readToolChoice(choice: NonNullable<ChatRequestBody['tool_choice']>): TurnRequest['toolChoice'] {
  return typeof choice === 'string' ? choice : { name: choice.function.name };
}

function unknownMembers(request: ChatRequestBody): Record<string, Json> {
  const unknown: Record<string, Json> = {};
  for (const key of Object.keys(request)) if (!known.has(key)) unknown[key] = request[key] as Json;
  return unknown;
}

function pick(request: ChatRequestBody): JsonObject {
  const parameters: JsonObject = {};
  for (const key of forwardedParameters) {
    const value = request[key];
    if (value !== undefined) parameters[key] = value as Json;
  }
  // OpenAI refuses `metadata` without `store`.
  if (request['store'] !== true) delete parameters['metadata'];
  return parameters;
}
