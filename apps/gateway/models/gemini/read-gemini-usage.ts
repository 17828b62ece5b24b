// Translates Gemini's token counts to OpenAI's shape. Pure.
import { isJsonObject, type Json } from '#libs/schemas/json.js';
import type { Usage } from '#libs/schemas/usage.js';

/** Thoughts are part of `completion_tokens`. Undefined while nothing was counted. */
export function readGeminiUsage(usage: Json | undefined): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0);
  const thoughts = count('thoughtsTokenCount');
  const cached = count('cachedContentTokenCount');
  const prompt_tokens = count('promptTokenCount') + count('toolUsePromptTokenCount');
  const completion_tokens = count('candidatesTokenCount') + thoughts;
  if (prompt_tokens === 0 && completion_tokens === 0) return undefined;
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: count('totalTokenCount') || prompt_tokens + completion_tokens,
    ...(cached > 0 && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(thoughts > 0 && { completion_tokens_details: { reasoning_tokens: thoughts } }),
  };
}
