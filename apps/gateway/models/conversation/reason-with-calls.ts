// Corrects a finish reason by whether the message has calls, since providers are not consistent. Pure.
import type { FinishReason } from '#libs/schemas/model-event.js';

export function reasonWithCalls(reason: FinishReason, hasCalls: boolean): FinishReason {
  if (reason === 'stop' && hasCalls) return 'tool_calls';
  // Without calls, a client would wait for calls that never come.
  return reason === 'tool_calls' && !hasCalls ? 'stop' : reason;
}
