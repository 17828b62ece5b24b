// Translates a model request to the body for an OpenAI-compatible upstream. Adds nothing that the caller left out, except
// `include_usage` for streams.
import { keptFor } from '#libs/kept/kept-for.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { isStrictSchema } from '#libs/schemas/strict-schema.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';
import type { ToolNames } from '../conversation/tool-names.js';
import { knownFields } from './compatible/known-fields.js';
import { toOpenAiSchema } from './to-openai-schema.js';
import { toOpenAiMessages, type OpenAiMessageRules } from './to-openai-messages.js';

const withUsage = { include_usage: true };

export function toOpenAiRequest(request: ModelRequest, rules: OpenAiMessageRules): string {
  const { tools } = request;
  const { names, served } = rules;
  const text = JSON.stringify({
    ...knownFields(request, rules),
    model: request.model,
    messages: toOpenAiMessages(request.messages, rules),
    stream: request.stream,
    stream_options: request.stream && !served.isStrict ? withUsage : undefined,
    tools: undefined,
    tool_choice: tools.length === 0 ? undefined : toolChoice(request, names),
    parallel_tool_calls: tools.length === 0 ? undefined : request.parallelToolCalls,
  });
  if (tools.length === 0) return text;
  return `${text.slice(0, -1)},"tools":[${tools.map((tool) => toolText(tool, names)).join(',')}]}`;
}

function toolChoice(request: ModelRequest, names: ToolNames): unknown {
  const choice = request.toolChoice;
  if (typeof choice !== 'object') return choice;
  return { type: 'function', function: { name: names.toWire(choice.name) } };
}

/** A tool's function, as both of OpenAI's APIs have it. */
export interface WireFunction {
  name: string;
  description: string | undefined;
  parameters: JsonObject;
  strict: boolean | undefined;
}

/** Writes tools as text. Definitions are the same objects in every request, so each is serialised once. */
export function toolWriter(
  write: (called: WireFunction) => object,
): (tool: ToolDefinition, names: ToolNames) => string {
  const textOf = keptFor((tool: ToolDefinition, name: string) => {
    const { description, parameters: given = { type: 'object', properties: {} } } = tool;
    const parameters = toOpenAiSchema(given);
    // The upstream would refuse the whole request for a schema that strict mode does not support.
    const strict = tool.strict === true ? isStrictSchema(parameters) || undefined : tool.strict;
    return JSON.stringify(write({ name, description, parameters, strict }));
  });
  return (tool, names) => textOf(tool, names.toWire(tool.name));
}

const toolText = toolWriter((called) => ({ type: 'function', function: called }));
