// The finish reasons of OpenAI and everyone compatible, in our four words. Pure.
import type { FinishReason } from '#libs/schemas/model-event.js';
import { reasonWithCalls } from '../conversation/reason-with-calls.js';

/** `failed`: the provider says that it broke off, which is not an end. */
export type EndedBy = FinishReason | 'failed';

const reasons = new Map<string, EndedBy>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  // Mistral
  ['model_length', 'length'],
  ['content_filter', 'content_filter'],
  // Zhipu
  ['sensitive', 'content_filter'],
  ['refusal', 'content_filter'],
  ['safety', 'content_filter'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  // OpenRouter and Mistral; DeepSeek out of machines; Zhipu; vLLM and SGLang when they drop a request
  ['error', 'failed'],
  ['insufficient_system_resource', 'failed'],
  ['network_error', 'failed'],
  ['abort', 'failed'],
]);

/** `reason` undefined: the provider said that the message is over but not why. */
export function mapFinishReason(reason: string | undefined, hasCalls: boolean): EndedBy {
  const mapped = reason === undefined ? 'stop' : (reasons.get(reason.toLowerCase()) ?? 'stop');
  return mapped === 'failed' ? mapped : reasonWithCalls(mapped, hasCalls);
}
