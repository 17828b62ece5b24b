// Reads the body of a chat completions request as a TurnRequest. An error names the invalid field.
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ChosenServer, RequestedTool, TurnRequest } from '../turn/turn-request.js';
import { gatewayOptions } from '../chat-apis/gateway-fields.js';
import { refuseTooMany, requireObject, validatedBody, withoutNullMembers } from '../chat-apis/invalid-value.js';
import { readCustomTool, toArguments } from '../chat-apis/free-text.js';
import { readMcpChoice, readMcpTool } from '../chat-apis/mcp-tool.js';
import { readFunction, refuseStrayResults, refuseTwice } from '../chat-apis/read-tools.js';
import { type ChatRequestBody, chatRequestSchema, forwardedParameters } from './chat-request.schema.js';
import type { AssistantMessage, ChatMessage, ToolCall, ToolMessage } from '#libs/schemas/message.js';
import { toCall } from '../chat-apis/read-rounds.js';

const known = new Set(Object.keys(chatRequestSchema.shape));

/** @throws AppError invalid_value, too_many_tools, reserved_name, request_too_large */
export function readChatRequest(body: unknown, dialect: TurnRequest['dialect'], limits: Config['limits']): TurnRequest {
  const given = requireObject(body);
  refuseTooMany(given['messages'], limits.messages, 'messages');
  refuseTooMany(given['tools'], limits.tools, 'tools');
  refuseTooMany(given['functions'], limits.tools, 'functions');
  const request = validatedBody(chatRequestSchema, readable(given));
  refuseBothForms(request);
  const { functions = [] } = request;
  const tools =
    functions.length > 0
      ? functions.map((given, index) => readFunction(given, pathsOf(`functions[${index}]`), limits))
      : (request.tools ?? []).map((tool, index) => readTool(tool, index, limits));
  refuseTwice(tools, (index) => nameOf(request, index));
  const messages = readHistory(request.messages);
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
    model: request.model,
    legacyFunctions: functions.length > 0 ? true : undefined,
    ...readChoice(request),
    parallelToolCalls: request.parallel_tool_calls,
  };
}

/** `null` counts as absent in every optional field of the request and its messages. */
function readable(body: JsonObject): JsonObject {
  const request = withoutNullMembers(body);
  if (Array.isArray(request['messages'])) request['messages'] = request['messages'].map(messageWithoutNulls);
  return request;
}

function messageWithoutNulls(message: Json): Json {
  if (!isJsonObject(message)) return message;
  const { tool_calls: calls } = message;
  // Clients that send back an SDK's message object may have `tool_calls: []` in it.
  if (Array.isArray(calls) && calls.length === 0) return withoutNullMembers({ ...message, tool_calls: null });
  return Object.values(message).includes(null) ? withoutNullMembers(message) : message;
}

type BodyTool = NonNullable<ChatRequestBody['tools']>[number];

function readTool(tool: BodyTool, index: number, limits: Config['limits']): RequestedTool {
  if (tool.type === 'mcp') return readMcpTool(tool);
  if (tool.type === 'function') return readFunction(tool.function, pathsOf(`tools[${index}].function`), limits);
  const { format, ...given } = tool.custom;
  const grammar = format?.type === 'grammar' ? format.grammar : undefined;
  return readCustomTool({ ...given, grammar }, `tools[${index}].custom`, limits);
}

const pathsOf = (at: string) => ({ name: `${at}.name`, parameters: `${at}.parameters` });

function nameOf({ tools, functions }: ChatRequestBody, index: number): string {
  return functions === undefined ? `tools[${index}].${tools![index]!.type}.name` : `functions[${index}].name`;
}

/** OpenAI replaced `functions` by `tools`; an answer is in one of the two forms. */
function refuseBothForms({ tools, functions, tool_choice: choice, function_call: older }: ChatRequestBody): void {
  const mixed = (param: string, other: string) =>
    new AppError('invalid_value', `${param}: cannot be combined with ${other}`, { param });
  if (functions !== undefined && tools !== undefined) throw mixed('functions', 'tools');
  if (functions !== undefined && choice !== undefined) throw mixed('tool_choice', 'functions');
  if (older !== undefined && functions === undefined) {
    throw new AppError('invalid_value', 'function_call: is only for functions, use tool_choice', {
      param: 'function_call',
    });
  }
}

type BodyChoice = NonNullable<ChatRequestBody['tool_choice']>;
type NamedChoice = Extract<BodyChoice, { type: 'allowed_tools' }>['allowed_tools']['tools'][number];

function readChoice({
  tool_choice: choice,
  function_call: older,
}: ChatRequestBody): Pick<TurnRequest, 'toolChoice' | 'allowedTools'> {
  if (older !== undefined) return { toolChoice: typeof older === 'string' ? older : { name: older.name } };
  if (choice === undefined) return {};
  if (typeof choice === 'string') return { toolChoice: choice };
  if (choice.type !== 'allowed_tools') return { toolChoice: readNamed(choice) };
  const { mode, tools } = choice.allowed_tools;
  return { toolChoice: mode, allowedTools: tools.map(readNamed) };
}

function readNamed(choice: NamedChoice): { name: string } | ChosenServer {
  if (choice.type === 'mcp') return readMcpChoice(choice);
  return { name: choice.type === 'function' ? choice.function.name : choice.custom.name };
}

function unknownMembers(request: ChatRequestBody): Record<string, Json> {
  const unknown: Record<string, Json> = {};
  for (const key in request) if (!known.has(key)) unknown[key] = request[key] as Json;
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

type BodyMessage = ChatRequestBody['messages'][number];
type BodyAssistant = Extract<BodyMessage, { role: 'assistant' }>;
type BodyResult = Extract<BodyMessage, { role: 'function' }>;

/**
 * Translates messages in the other forms of chat completions to those of tools: calls of custom tools, and `function_call`
 * with results of role `function`, which have no ids: a result belongs to the first open call of its name before it.
 * @throws AppError invalid_value for a result without a call
 */
function readHistory(messages: ChatRequestBody['messages']): ChatMessage[] {
  if (!messages.some(isOtherForm)) return messages as unknown as ChatMessage[];
  /** By name: the ids of calls without a result. */
  const open = new Map<string, string[]>();
  return messages.map((message, at): ChatMessage => {
    if (message.role === 'function') return readResult(message, open, at);
    return message.role === 'assistant' && isOtherForm(message)
      ? readAssistant(message, open, at)
      : (message as unknown as ChatMessage);
  });
}

function isOtherForm(message: BodyMessage): boolean {
  if (message.role === 'function') return true;
  if (message.role !== 'assistant') return false;
  return message.function_call !== undefined || message.tool_calls?.some(({ type }) => type === 'custom') === true;
}

function readAssistant(message: BodyAssistant, open: Map<string, string[]>, at: number): AssistantMessage {
  const { function_call: called, tool_calls: calls = [], ...rest } = message;
  if (called === undefined) return { ...rest, tool_calls: calls.map(readCall) } as AssistantMessage;
  const id = `call_of_message_${at}`;
  const ids = open.get(called.name);
  if (ids === undefined) open.set(called.name, [id]);
  else ids.push(id);
  return { ...rest, tool_calls: [toCall(id, called.name, called.arguments)] } as AssistantMessage;
}

function readCall(call: NonNullable<BodyAssistant['tool_calls']>[number]): ToolCall {
  if (call.type === 'function') return call;
  const { name, input } = call.custom;
  return toCall(call.id, name, toArguments(input));
}

function readResult({ name, content }: BodyResult, open: Map<string, string[]>, at: number): ToolMessage {
  const id = open.get(name)?.shift();
  if (id !== undefined) return { role: 'tool', tool_call_id: id, content: (content ?? '') as ToolMessage['content'] };
  const message = `This result does not answer a call of '${name}' in an earlier message`;
  throw new AppError('invalid_value', message, { param: `messages[${at}].name` });
}
