// Translates a model request to the body of Gemini's generateContent. Adds nothing that the caller left out, and leaves out
// OpenAI's parameters that Gemini does not have.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ModelRequest } from '../model-provider.js';
import { readConversation } from '../conversation/read-conversation.js';
import { readResponseFormat, readStops } from '../conversation/read-response-format.js';
import type { ToolNames } from '../conversation/tool-names.js';
import type { Warnings } from '../conversation/warnings.js';
import { takesJsonSchema, toThinkingConfig, wantsSignatures } from './gemini-models.js';
import { toGeminiContents } from './to-gemini-contents.js';
import { lostKeywords, toGeminiTools, toSchemaForm } from './to-gemini-tools.js';

export interface RequestRules {
  provider: string;
  names: ToolNames;
  warnings: Warnings;
}

/** @throws AppError invalid_value */
export function toGeminiRequest(request: ModelRequest, { provider, names, warnings }: RequestRules): string {
  const { model } = request;
  const conversation = readConversation(request.messages);
  const generationConfig = toGenerationConfig(request, warnings);
  return JSON.stringify({
    ...(conversation.system !== '' && { systemInstruction: { parts: [{ text: conversation.system }] } }),
    contents: toGeminiContents(conversation, {
      provider,
      names,
      model,
      warnings,
      wantsSignatures: wantsSignatures(model),
    }),
    ...toGeminiTools(request, { names, jsonSchema: takesJsonSchema(model), warnings }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
  });
}

/** OpenAI's parameter names and Gemini's. */
const sameMeaning: Record<string, string> = {
  temperature: 'temperature',
  top_p: 'topP',
  seed: 'seed',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
  n: 'candidateCount',
  logprobs: 'responseLogprobs',
  top_logprobs: 'logprobs',
  max_tokens: 'maxOutputTokens',
  max_completion_tokens: 'maxOutputTokens',
};

function toGenerationConfig({ model, parameters }: ModelRequest, warnings: Warnings): JsonObject {
  const config: JsonObject = {};
  for (const [name, theirs] of Object.entries(sameMeaning)) {
    if (parameters[name] !== undefined) config[theirs] = parameters[name];
  }
  const stops = readStops(parameters);
  if (stops.length > 0) config['stopSequences'] = stops;
  const effort = parameters['reasoning_effort'];
  const thinking = typeof effort === 'string' ? toThinkingConfig(model, effort) : undefined;
  if (thinking !== undefined) config['thinkingConfig'] = thinking;
  return { ...config, ...toFormat(parameters, model, warnings) };
}

function toFormat(parameters: JsonObject, model: string, warnings: Warnings): JsonObject {
  const format = readResponseFormat(parameters);
  if (format.type === 'text') return {};
  const json = { responseMimeType: 'application/json' };
  if (format.type === 'json') return json;
  const { form, schema, lost } = toSchemaForm(format.schema, takesJsonSchema(model));
  if (lost.length > 0) warnings.add(lostKeywords('response_format', lost), 'response_format');
  return { ...json, [form === 'openApi' ? 'responseSchema' : 'responseJsonSchema']: schema };
}
