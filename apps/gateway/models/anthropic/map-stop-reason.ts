// Translates Anthropic's stop reasons to OpenAI's. Pure.
import type { FinishReason } from '#libs/schemas/model-event.js';
import { reasonWithCalls } from '../conversation/reason-with-calls.js';

const reasons = new Map<string, FinishReason>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
]);

export function mapStopReason(reason: string, hasCalls: boolean): FinishReason {
  return reasonWithCalls(reasons.get(reason) ?? 'stop', hasCalls);
}
