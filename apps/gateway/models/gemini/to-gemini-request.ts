// Translates a model request to the body of Gemini's generateContent. Adds nothing that the caller left out, and leaves out
// OpenAI's parameters that Gemini does not have.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ModelRequest } from '../model-provider.js';
import { readConversation } from '../conversation/read-conversation.js';
import { formAskedInWords, formBesideTools, readResponseFormat } from '../conversation/read-response-format.js';
import type { ToolNames } from '../conversation/tool-names.js';
import type { Warnings } from '../conversation/warnings.js';
import { takesFormBesideTools, wantsSignatures } from './gemini-models.js';
import { toGeminiContents } from './to-gemini-contents.js';
import { toGeminiSchema } from './to-gemini-schema.js';
import { toGenerationConfig } from './to-generation-config.js';
import { lostKeywords, toGeminiTools } from './to-gemini-tools.js';

export interface GeminiRequestRules {
  provider: string;
  names: ToolNames;
  warnings: Warnings;
}

/** @throws AppError invalid_value */
export function toGeminiRequest(request: ModelRequest, { provider, names, warnings }: GeminiRequestRules): string {
  const { model } = request;
  const conversation = readConversation(request.messages);
  const form = toFormat(request, warnings);
  const generationConfig = { ...toGenerationConfig(request, warnings), ...form.config };
  const system = [conversation.system, form.instruction ?? ''].filter((text) => text !== '').join('\n\n');
  return JSON.stringify({
    systemInstruction: system === '' ? undefined : { parts: [{ text: system }] },
    contents: toGeminiContents(conversation, {
      provider,
      names,
      model,
      warnings,
      wantsSignatures: wantsSignatures(model),
    }),
    ...toGeminiTools(request, { names, warnings }),
    generationConfig: Object.keys(generationConfig).length === 0 ? undefined : generationConfig,
  });
}

function toFormat(
  { model, parameters, tools }: ModelRequest,
  warnings: Warnings,
): { config?: JsonObject; instruction?: string } {
  const format = readResponseFormat(parameters);
  if (format.type === 'text') return {};
  if (tools.length > 0 && !takesFormBesideTools(model)) {
    warnings.add(formAskedInWords(model), 'response_format');
    return { instruction: formBesideTools(format)! };
  }
  const json = { responseMimeType: 'application/json' };
  if (format.type === 'json') return { config: json };
  const { schema, lost } = toGeminiSchema(format.schema);
  if (lost.length > 0) warnings.add(lostKeywords('response_format', lost), 'response_format');
  return { config: { ...json, responseJsonSchema: schema } };
}
