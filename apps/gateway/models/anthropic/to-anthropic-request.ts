// Translates a model request to the body of Anthropic's Messages API. Leaves out parameters that the API does not have,
// and refuses those whose absence would change the meaning of the answer.
import type { ProviderConfig } from '#libs/config/schema.js';
import { keptFor } from '#libs/kept/kept-for.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';
import { unsupported } from '../conversation/read-content-part.js';
import { readConversation } from '../conversation/read-conversation.js';
import { formInWords, readResponseFormat } from '../conversation/read-response-format.js';
import { namesIn, type ToolNames } from '../conversation/tool-names.js';
import type { Warnings } from '../conversation/warnings.js';
import { largestAnswer, takesOutputFormat, toThinking, type Thinking } from './claude-models.js';
import {
  lacksThinking,
  toAnthropicMessages,
  type AnthropicMessage,
  type AnthropicMessageRules,
} from './to-anthropic-messages.js';
import { toInputSchema, toOutputSchema } from './to-anthropic-schema.js';
import { labels, toSampling, warnOfOthers } from './to-sampling.js';

export interface AnthropicRequestRules extends AnthropicMessageRules {
  promptCaching: ProviderConfig['prompt_caching'];
  /** `max_tokens` of the model in the API's list. */
  listedMaximum: number | undefined;
}

/** The body, always of one shape; undefined members are not sent. */
export interface AnthropicRequest {
  [member: string]: unknown;
  messages: AnthropicMessage[] & JsonObject[];
}

const cached = { cache_control: { type: 'ephemeral' } };

/** @throws AppError invalid_value */
export function toAnthropicRequest(request: ModelRequest, rules: AnthropicRequestRules): AnthropicRequest {
  const { model, parameters } = request;
  if (Number(parameters['n'] ?? 1) > 1) throw unsupported(rules.provider, 'n above 1', 'n');
  const conversation = readConversation(request.messages);
  const max_tokens = maxTokensOf(request, rules);
  const format = toFormat(request, rules.provider);
  const system = [conversation.system, format.instruction ?? ''].filter((text) => text !== '').join('\n\n');
  const { thinking, effort } = thinkingOf(
    request,
    max_tokens,
    lacksThinking(conversation, rules.provider),
    rules.warnings,
  );
  warnOfOthers(request, rules.warnings);
  const hasConfig = effort !== undefined || format.config !== undefined;
  return {
    model,
    max_tokens,
    system: system === '' ? undefined : rules.promptCaching ? [{ type: 'text', text: system, ...cached }] : system,
    messages: toAnthropicMessages(conversation, rules) as AnthropicRequest['messages'],
    stream: request.stream,
    ...toTools(request, rules),
    ...toSampling(request, thinking !== undefined, rules.warnings),
    thinking,
    output_config: hasConfig ? { effort, ...format.config } : undefined,
    ...labels(request, rules.warnings),
  };
}

/** The API refuses thinking together with a forced call, or when earlier thinking is missing. */
function thinkingOf(request: ModelRequest, maxTokens: number, lacks: boolean, warnings: Warnings): Thinking {
  const { model, parameters, toolChoice, providerTools } = request;
  const effort = parameters['reasoning_effort'];
  const wanted = toThinking(model, typeof effort === 'string' ? effort : undefined, maxTokens);
  const isChosen = providerTools?.some(({ chosen }) => chosen === true) === true;
  const forced = toolChoice === 'required' || typeof toolChoice === 'object' || isChosen;
  const refused = forced || (lacks && wanted.thinking?.type === 'enabled');
  if (typeof effort === 'string' && effort !== 'none' && wanted.thinking === undefined) {
    warnings.leftOut(model, 'reasoning_effort');
  } else if (wanted.thinking !== undefined && refused) {
    warnings.add(
      `${model} did not think, because ${forced ? 'a call is required' : 'earlier thinking is missing'}`,
      'reasoning_effort',
    );
  }
  return refused ? { thinking: undefined, effort: wanted.effort } : wanted;
}

function maxTokensOf({ model, parameters }: ModelRequest, { listedMaximum, warnings }: AnthropicRequestRules): number {
  const asked = numberOf(parameters['max_completion_tokens'] ?? parameters['max_tokens']);
  if (asked === undefined) return listedMaximum ?? largestAnswer(model);
  if (listedMaximum === undefined || asked <= listedMaximum) return asked;
  warnings.add(`${model} answers with at most ${listedMaximum} tokens`, 'max_tokens');
  return listedMaximum;
}

const numberOf = (value: Json | undefined) => (typeof value === 'number' ? value : undefined);

/** If the history has calls, the API requires tools: without offered ones, those of the history are declared. */
function toTools(
  request: ModelRequest,
  { names, promptCaching, searches }: AnthropicRequestRules,
): { tools: unknown; tool_choice: unknown } {
  const { providerTools = [] } = request;
  const offered = request.tools.length + providerTools.length > 0;
  const definitions =
    request.tools.length > 0 ? request.tools : [...new Set(namesIn(request))].map((name) => ({ name }));
  const tools: JsonObject[] = [
    ...definitions.map((tool) =>
      searches?.deferred.has(tool.name) === true
        ? { ...toTool(tool, names), defer_loading: true }
        : toTool(tool, names),
    ),
    ...providerTools.map(({ tool }) => tool),
  ];
  if (tools.length === 0) return { tools: undefined, tool_choice: undefined };
  // The API refuses both members together: deferred tools are no part of what is cached.
  const last = tools.findLastIndex((tool) => tool['defer_loading'] !== true);
  if (promptCaching && last !== -1) tools[last] = { ...tools[last], ...cached };
  return { tools, tool_choice: offered ? toToolChoice(request, names) : { type: 'none' } };
}

/** Definitions are the same objects in every request, so each is translated once. */
const written = keptFor(({ description, parameters }: ToolDefinition, name: string): JsonObject => ({
  name,
  ...(description && { description }),
  input_schema: toInputSchema(parameters),
}));

const toTool = (tool: ToolDefinition, names: ToolNames): JsonObject =>
  tool.own?.api === 'anthropic' ? tool.own.tool : written(tool, names.toWire(tool.name));

function toToolChoice(request: ModelRequest, names: ToolNames): JsonObject | undefined {
  const { toolChoice, parallelToolCalls, providerTools } = request;
  if (toolChoice === 'none') return { type: 'none' };
  const single: JsonObject = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  const chosen = providerTools?.find((each) => each.chosen === true)?.tool['name'];
  if (chosen !== undefined) return { type: 'tool', name: chosen, ...single };
  if (typeof toolChoice === 'object') return { type: 'tool', name: names.toWire(toolChoice.name), ...single };
  if (toolChoice === 'required') return { type: 'any', ...single };
  return toolChoice === 'auto' || parallelToolCalls === false ? { type: 'auto', ...single } : undefined;
}

function toFormat(
  { model, parameters }: ModelRequest,
  provider: string,
): { config?: JsonObject; instruction?: string } {
  const format = readResponseFormat(parameters);
  if (format.type === 'text') return {};
  // The API has no mode for JSON without a schema.
  if (format.type === 'json') return { instruction: formInWords(format)! };
  if (!takesOutputFormat(model)) {
    throw unsupported(provider, `response_format json_schema with ${model}`, 'response_format');
  }
  return { config: { format: { type: 'json_schema', schema: toOutputSchema(format.schema) } } };
}
