// Translates Anthropic's token counts to OpenAI's shape. Pure.
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { Usage } from '#libs/schemas/usage.js';

/** As with OpenAI, tokens read from and written to the cache are part of `prompt_tokens`. */
export function readAnthropicUsage(usage: JsonObject): Usage {
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0);
  const read = count('cache_read_input_tokens');
  const written = count('cache_creation_input_tokens');
  const prompt_tokens = count('input_tokens') + read + written;
  const completion_tokens = count('output_tokens');
  const details = usage['output_tokens_details'];
  const thinking = isJsonObject(details) ? details['thinking_tokens'] : undefined;
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    ...((read > 0 || written > 0) && {
      prompt_tokens_details: { cached_tokens: read, cache_creation_tokens: written },
    }),
    ...(typeof thinking === 'number' && { completion_tokens_details: { reasoning_tokens: thinking } }),
  };
}

/** Later counts replace earlier ones: each is for the whole message so far. */
export function laterUsage(before: JsonObject, later: unknown): JsonObject {
  if (!isJsonObject(later)) return before;
  return { ...before, ...Object.fromEntries(Object.entries(later).filter(([, value]) => value !== null)) };
}
