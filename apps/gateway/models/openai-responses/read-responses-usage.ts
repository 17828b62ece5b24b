// Translates the token counts of OpenAI's Responses API to those of chat completions. Pure.
import { isJsonObject, type Json } from '#libs/schemas/json.js';
import type { Usage } from '#libs/schemas/usage.js';

/** Undefined without counts. Details keep their names, which are the same in both APIs. */
export function readResponsesUsage(usage: Json | undefined): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0);
  const prompt_tokens = count('input_tokens');
  const completion_tokens = count('output_tokens');
  const { input_tokens_details: input, output_tokens_details: output } = usage;
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: count('total_tokens') || prompt_tokens + completion_tokens,
    ...(isJsonObject(input) && { prompt_tokens_details: input }),
    ...(isJsonObject(output) && { completion_tokens_details: output }),
  };
}
