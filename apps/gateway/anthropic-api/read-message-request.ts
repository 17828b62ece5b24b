// Reads the body of an Anthropic messages request as a TurnRequest. An error names the invalid field.
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { isStrictSchema } from '#libs/schemas/strict-schema.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { ProviderTool } from '#libs/schemas/tool-definition.js';
import type { RequestedTool, TurnRequest } from '../turn/turn-request.js';
import { gatewayOptions } from '../chat-apis/gateway-fields.js';
import { refuseTooMany, requireObject, validatedBody, withoutNullMembers } from '../chat-apis/invalid-value.js';
import { asFunction, type OtherTool } from '../chat-apis/provider-tools.js';
import { readFunction, refuseStrayResults, refuseTwice } from '../chat-apis/read-tools.js';
import { type MessageRequestBody, messageRequestSchema } from './message-request.schema.js';
import { joinedText, readMessages } from './read-messages.js';

/** @throws AppError invalid_value, too_many_tools, reserved_name */
export function readMessageRequest(body: unknown, limits: Config['limits']): TurnRequest {
  const given = requireObject(body);
  refuseTooMany(given['messages'], limits.messages, 'messages');
  refuseTooMany(given['tools'], limits.tools, 'tools');
  const request = validatedBody(messageRequestSchema, withoutNullMembers(given));
  const providerTools: ProviderTool[] = [];
  const tools: RequestedTool[] = [];
  const places: number[] = [];
  (request.tools ?? []).forEach((tool, index) => {
    const own = tool.type === 'other' ? asFunction(tool.given as OtherTool) : undefined;
    if (tool.type === 'other' && own === undefined) {
      providerTools.push({ api: 'anthropic', tool: tool.given as OtherTool });
      return;
    }
    tools.push(own === undefined ? readTool(tool as BodyTool, index, limits) : readOwnTool(own, index, limits));
    places.push(index);
  });
  refuseTwice(tools, (index) => `tools[${places[index]}].name`);
  const { messages, paths } = readMessages(request.messages);
  refuseRepeatedCalls(messages);
  refuseStrayResults(messages, (result) => paths.get(result) ?? 'messages');
  const choice = request.tool_choice;
  return {
    dialect: 'anthropic',
    messages: [...readSystem(request.system), ...messages],
    tools,
    stream: request.stream ?? false,
    includeUsage: true,
    parameters: readParameters(request),
    unknown: request.top_k === undefined ? {} : { top_k: request.top_k },
    ...gatewayOptions(request),
    model: request.model,
    ...readToolChoice(choice, providerTools),
    parallelToolCalls: choice?.['disable_parallel_tool_use'] === true ? false : undefined,
  };
}

export function readCountRequest(body: unknown, limits: Config['limits']): TurnRequest {
  // Large enough for any thinking budget, because thinking changes the count.
  return readMessageRequest({ ...requireObject(body), max_tokens: 64_000 }, limits);
}

function readSystem(system: MessageRequestBody['system']): ChatMessage[] {
  const text = system === undefined ? '' : joinedText(system);
  return text === '' ? [] : [{ role: 'system', content: text }];
}

type BodyTool = Exclude<NonNullable<MessageRequestBody['tools']>[number], { type: 'other' }>;

/** A tool of Anthropic's that the caller runs. */
function readOwnTool(
  tool: ReturnType<typeof asFunction> & object,
  index: number,
  limits: Config['limits'],
): RequestedTool {
  const paths = { name: `tools[${index}].name`, parameters: `tools[${index}]` };
  const read = readFunction(tool, paths, limits);
  return read.type === 'function' ? { ...read, definition: { ...read.definition, own: tool.own! } } : read;
}

function readTool(tool: BodyTool, index: number, limits: Config['limits']): RequestedTool {
  if (tool.type === 'custom') {
    const { name, description, input_schema: parameters, strict } = tool;
    const paths = { name: `tools[${index}].name`, parameters: `tools[${index}].input_schema` };
    return readFunction({ name, description, parameters, strict }, paths, limits);
  }
  const configs = Object.entries(tool.configs ?? {});
  const byDefault = tool.default_config?.enabled ?? true;
  const named = (enabled: boolean) =>
    configs.filter(([, config]) => (config.enabled ?? byDefault) === enabled).map(([name]) => name);
  return {
    type: 'mcp',
    serverLabel: tool.mcp_server_name,
    allowedTools: byDefault ? undefined : named(true),
    deniedTools: byDefault && named(false).length > 0 ? named(false) : undefined,
  };
}

function readToolChoice(
  choice: MessageRequestBody['tool_choice'],
  providerTools: ProviderTool[],
): Pick<TurnRequest, 'toolChoice' | 'providerTools'> {
  const all = providerTools.length === 0 || choice?.type === 'none' ? {} : { providerTools };
  switch (choice?.type) {
    case undefined:
      return all;
    case 'auto':
    case 'none':
      return { ...all, toolChoice: choice.type };
    case 'any':
      return { ...all, toolChoice: 'required' };
    case 'tool': {
      const { name } = choice;
      if (!providerTools.some(({ tool }) => tool['name'] === name)) return { ...all, toolChoice: { name } };
      return {
        providerTools: providerTools.map((each) => (each.tool['name'] === name ? { ...each, chosen: true } : each)),
      };
    }
  }
}

/** Translates to OpenAI's parameters, which all adapters read. */
function readParameters(request: MessageRequestBody): JsonObject {
  const { stop_sequences: stop, temperature, top_p, metadata, output_config: output } = request;
  const effort = effortOf(request);
  const schema = output?.format?.schema as JsonObject | undefined;
  // Anthropic allows optional members here, which OpenAI's strict mode does not.
  const strict = schema !== undefined && isStrictSchema(schema);
  return {
    max_tokens: request.max_tokens,
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(stop === undefined || stop.length === 0 ? {} : { stop }),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...(typeof metadata?.user_id === 'string' ? { user: metadata.user_id } : {}),
    ...(schema === undefined
      ? {}
      : { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict } } }),
  };
}

/** Translates a budget of thinking tokens to the nearest effort. */
function effortOf({ thinking, output_config: output }: MessageRequestBody): string | undefined {
  const effort = output?.effort ?? undefined;
  if (effort !== undefined) return effort;
  const budget = thinking?.type === 'enabled' ? (thinking.budget_tokens ?? undefined) : undefined;
  if (budget === undefined) return undefined;
  if (budget <= 2_048) return 'low';
  return budget <= 8_192 ? 'medium' : 'high';
}

function refuseRepeatedCalls(messages: readonly ChatMessage[]): void {
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    const ids = (message.tool_calls ?? []).map((call) => call.id);
    if (new Set(ids).size === ids.length) continue;
    throw new AppError('invalid_value', 'Two calls of this message have the same id', { param: 'messages' });
  }
}
