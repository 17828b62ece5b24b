// Translates Gemini's finish reasons to OpenAI's. Messages with calls end with STOP too. Pure.
import type { FinishReason } from '#libs/schemas/model-event.js';
import { reasonWithCalls } from '../conversation/reason-with-calls.js';

/** `malformed`: an error of the model, which a second attempt may avoid. */
export type GeminiFinishReason = FinishReason | 'malformed';

const reasons = new Map<string, GeminiFinishReason>([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['SAFETY', 'content_filter'],
  ['RECITATION', 'content_filter'],
  ['LANGUAGE', 'content_filter'],
  ['BLOCKLIST', 'content_filter'],
  ['PROHIBITED_CONTENT', 'content_filter'],
  ['SPII', 'content_filter'],
  ['IMAGE_SAFETY', 'content_filter'],
  ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
  ['IMAGE_RECITATION', 'content_filter'],
  ['MODEL_ARMOR', 'content_filter'],
  ['MALFORMED_FUNCTION_CALL', 'malformed'],
  ['UNEXPECTED_TOOL_CALL', 'malformed'],
  ['TOO_MANY_TOOL_CALLS', 'malformed'],
  ['MALFORMED_RESPONSE', 'malformed'],
  ['MISSING_THOUGHT_SIGNATURE', 'malformed'],
]);

export function mapGeminiFinishReason(reason: string | undefined, hasCalls: boolean): GeminiFinishReason {
  const mapped = reasons.get(reason ?? 'STOP') ?? 'stop';
  return mapped === 'malformed' ? mapped : reasonWithCalls(mapped, hasCalls);
}
