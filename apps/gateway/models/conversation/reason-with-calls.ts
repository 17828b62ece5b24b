// Whether a message that simply ended asks for tools: its calls say so, not the provider's word. Pure.
import type { FinishReason } from '#libs/schemas/model-event.js';

export function reasonWithCalls(reason: FinishReason, hasCalls: boolean): FinishReason {
  if (reason === 'stop' && hasCalls) return 'tool_calls';
  // Some say tool_calls by habit when there is none; a caller would wait for calls that never come.
  return reason === 'tool_calls' && !hasCalls ? 'stop' : reason;
}
