// Translates the finish reasons of OpenAI-compatible providers to OpenAI's. Pure.
import type { FinishReason } from '#libs/schemas/model-event.js';
import { reasonWithCalls } from '../conversation/reason-with-calls.js';

/** `failed`: the provider aborted the answer. */
export type OpenAiFinishReason = FinishReason | 'failed';

const reasons = new Map<string, OpenAiFinishReason>([
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
  // OpenRouter and Mistral; DeepSeek without capacity; Zhipu; vLLM and SGLang when they drop a request
  ['error', 'failed'],
  ['insufficient_system_resource', 'failed'],
  ['network_error', 'failed'],
  ['abort', 'failed'],
]);

/** Without a reason, a message that ended counts as `stop`. */
export function mapOpenAiFinishReason(reason: string | undefined, hasCalls: boolean): OpenAiFinishReason {
  const mapped = reason === undefined ? 'stop' : (reasons.get(reason.toLowerCase()) ?? 'stop');
  return mapped === 'failed' ? mapped : reasonWithCalls(mapped, hasCalls);
}
