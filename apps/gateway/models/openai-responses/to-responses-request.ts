// Translates a model request to the body for OpenAI's Responses API. The provider keeps nothing unless the caller wants it, so
// reasoning comes back encrypted. Leaves out parameters that the API does not have; refuses more than one choice.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';
import { unsupported } from '../conversation/read-content-part.js';
import { mayReason, responsesEffort, openAiTakesSampling, takesVerbosity } from '../openai/openai-models.js';
import { toolWriter } from '../openai/to-openai-request.js';
import { toResponsesInput, type InputRules } from './to-responses-input.js';

/** The API refuses less. */
const leastOutputTokens = 16;

const unknownThere = [
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  // Parameters of chat completions, and Anthropic's.
  'audio',
  'modalities',
  'prediction',
  'top_k',
  'web_search_options',
];

/** @throws AppError invalid_value for content that the API does not support, and n above 1 */
export function toResponsesRequest(request: ModelRequest, rules: InputRules): string {
  const { model, parameters, tools, providerTools = [] } = request;
  if (Number(parameters['n'] ?? 1) > 1) throw unsupported(rules.provider, 'n above 1', 'n');
  const { include, reasoning, text, verbosity, ...unknown } = request.unknown;
  const hasTools = tools.length + providerTools.length > 0;
  for (const name of unknownThere) {
    const isDefault = JSON.stringify(unknown[name]) === '["text"]';
    if (!isDefault) rules.warnings.notSent(model, name, parameters[name] ?? unknown[name]);
    delete unknown[name];
  }
  const body = JSON.stringify({
    store: false,
    ...unknown,
    model,
    input: toResponsesInput(request.messages, rules),
    stream: request.stream,
    include: included(model, include),
    reasoning: toReasoning(parameters, reasoning, rules),
    text: toText(parameters['response_format'], text, toVerbosity(verbosity, rules)),
    ...toLimit(parameters),
    ...sampling(parameters, rules),
    metadata: parameters['metadata'],
    user: parameters['user'],
    tools: undefined,
    tool_choice: hasTools ? toToolChoice(request, rules) : undefined,
    parallel_tool_calls: hasTools ? request.parallelToolCalls : undefined,
  });
  if (!hasTools) return body;
  const written = [
    ...tools.flatMap((tool) => listedTool(tool, rules)),
    ...providerTools.map(({ tool }) => JSON.stringify(tool)),
  ];
  return `${body.slice(0, -1)},"tools":[${written.join(',')}]}`;
}

/** Tools that were found are where they were found. */
function listedTool(tool: ToolDefinition, { names, searches }: InputRules): string[] {
  if (searches?.deferred.has(tool.name) === true) return [];
  return [tool.name === searches?.name ? searchText(tool, names) : toolText(tool, names)];
}

/** https://developers.openai.com/api/docs/guides/tools-tool-search#client-executed-tool-search */
const searchText = toolWriter(({ description, parameters }) => ({
  type: 'tool_search',
  execution: 'client',
  description,
  parameters,
}));

/** Unlike chat completions, this API takes a tool without `strict` as strict. */
const toolText = toolWriter(({ strict = false, ...called }) => ({ type: 'function', ...called, strict }));

function toToolChoice({ toolChoice: choice, providerTools }: ModelRequest, { names }: InputRules): unknown {
  const chosen = providerTools?.find((each) => each.chosen === true)?.tool.type;
  if (chosen !== undefined) return { type: chosen };
  return typeof choice === 'object' ? { type: 'function', name: names.toWire(choice.name) } : choice;
}

/** Models that do not reason refuse to include reasoning. */
function included(model: string, given: Json | undefined): Json[] | undefined {
  const wanted = new Set(Array.isArray(given) ? given : []);
  if (mayReason(model)) wanted.add('reasoning.encrypted_content');
  return wanted.size === 0 ? undefined : [...wanted];
}

/** As with other families, a caller who asks for an effort is shown the model's reasoning. */
function toReasoning(
  { reasoning_effort: given }: JsonObject,
  more: Json | undefined,
  { model, warnings }: InputRules,
): unknown {
  const asked = typeof given === 'string' ? given : undefined;
  const effort = asked === undefined ? undefined : responsesEffort(model, asked);
  if (asked !== undefined && effort !== asked) warnings.otherEffort(model, asked, effort);
  const wanted: JsonObject = {
    ...(effort !== undefined && { effort }),
    ...(effort !== undefined && effort !== 'none' && { summary: 'auto' }),
    ...(isJsonObject(more) ? more : {}),
  };
  return Object.keys(wanted).length === 0 ? undefined : wanted;
}

function toText(format: Json | undefined, given: Json | undefined, verbosity: Json | undefined): unknown {
  const text: JsonObject = {
    ...(isJsonObject(given) ? given : {}),
    ...(verbosity !== undefined && { verbosity }),
    ...(isJsonObject(format) && { format: toFormat(format) }),
  };
  return Object.keys(text).length === 0 ? undefined : text;
}

function toVerbosity(asked: Json | undefined, { model, warnings }: InputRules): Json | undefined {
  if (takesVerbosity(model)) return asked;
  warnings.notSent(model, 'verbosity', asked);
  return undefined;
}

/** The members of `json_schema` are beside its type here. */
function toFormat({ json_schema: schema, ...format }: JsonObject): JsonObject {
  return isJsonObject(schema) ? { ...schema, ...format } : format;
}

function toLimit({ max_completion_tokens: completion, max_tokens: all }: JsonObject): JsonObject {
  const limit = completion ?? all;
  return typeof limit === 'number' ? { max_output_tokens: Math.max(limit, leastOutputTokens) } : {};
}

function sampling(parameters: JsonObject, { model, warnings }: InputRules): JsonObject {
  const { temperature, top_p: topP, reasoning_effort: effort } = parameters;
  const given = { ...(temperature !== undefined && { temperature }), ...(topP !== undefined && { top_p: topP }) };
  if (openAiTakesSampling(model, typeof effort === 'string' ? responsesEffort(model, effort) : undefined)) return given;
  // 1 is the default of both.
  for (const [name, value] of Object.entries(given)) if (value !== 1) warnings.leftOut(model, name);
  return {};
}
