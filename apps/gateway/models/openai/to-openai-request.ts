// A model request as the JSON text that an OpenAI-compatible upstream is sent. Nothing is invented: what the caller
// left out stays out, but for the usage of a stream, which is always asked for.
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';
import { mapToolNames, type ToolNames } from '../tool-names.js';
import { toOpenAiMessages, type MessageRules } from './to-openai-messages.js';

export interface OpenAiRequest {
  body: string;
  names: ToolNames;
}

/** OpenAI's own limit, which the compatible ones share. */
const maxTools = 128;

/** @throws AppError too_many_tools */
export function toOpenAiRequest(request: ModelRequest, rules: Omit<MessageRules, 'names'>): OpenAiRequest {
  const { tools } = request;
  if (tools.length > maxTools) {
    throw new AppError('too_many_tools', `${tools.length} tools are offered, the model takes ${maxTools}`, {
      param: 'tools',
    });
  }
  const names = mapToolNames(namesOf(request));
  const { stream_options: given, ...parameters } = request.parameters;
  const body = JSON.stringify({
    ...request.unknown,
    ...parameters,
    model: request.model,
    messages: toOpenAiMessages(request.messages, { ...rules, names }),
    stream: request.stream,
    stream_options: request.stream ? { ...(isJsonObject(given) ? given : undefined), include_usage: true } : undefined,
    tools: undefined,
    tool_choice: tools.length === 0 ? undefined : toolChoice(request, names),
    parallel_tool_calls: tools.length === 0 ? undefined : request.parallelToolCalls,
  });
  if (tools.length === 0) return { body, names };
  return { body: `${body.slice(0, -1)},"tools":[${tools.map((tool) => toolText(tool, names)).join(',')}]}`, names };
}

function* namesOf(request: ModelRequest): Iterable<string> {
  for (const tool of request.tools) yield tool.name;
  for (const message of request.messages) yield* calledNames(message);
}

function* calledNames(message: ChatMessage): Iterable<string> {
  if (message.role !== 'assistant') return;
  for (const call of message.tool_calls ?? []) yield call.function.name;
}

function toolChoice(request: ModelRequest, names: ToolNames): unknown {
  const choice = request.toolChoice;
  if (typeof choice !== 'object') return choice;
  return { type: 'function', function: { name: names.toWire(choice.name) } };
}

/** Definitions are the catalog's own objects, the same for every request: each is serialised once. */
const serialised = new WeakMap<ToolDefinition, { name: string; text: string }>();

function toolText(tool: ToolDefinition, names: ToolNames): string {
  const name = names.toWire(tool.name);
  const known = serialised.get(tool);
  if (known?.name === name) return known.text;
  const { description, strict, parameters = { type: 'object', properties: {} } } = tool;
  const text = JSON.stringify({ type: 'function', function: { name, description, parameters, strict } });
  serialised.set(tool, { name, text });
  return text;
}
