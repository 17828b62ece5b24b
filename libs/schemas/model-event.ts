// The one event type that every model adapter yields and the tool loop consumes.
// Streamed and whole answers become the same events. A bad chunk is an `error` event, never an exception.
import type { AppError } from './errors.js';
import type { JsonObject } from './json.js';
import type { ProviderState } from './message.js';
import type { Usage } from './usage.js';
import type { Warning } from './warning.js';

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Unknown members of an upstream's answer, passed on unchanged: `logprobs`, `refusal`, `system_fingerprint`, … */
export interface AnswerExtras {
  /** Members beside `choices`. */
  chunk?: JsonObject;
  /** Members of the choice beside `delta` or `message`. */
  choice?: JsonObject;
  /** Members of the delta or message. */
  delta?: JsonObject;
}

export type ModelEvent =
  /** `warnings`: what the request to the model left out or changed. */
  | { type: 'message_start'; model: string; responseId: string; warnings?: readonly Warning[] }
  /** `choice` is the index if the caller requested `n > 1`; absent means 0. */
  | { type: 'text_delta'; text: string; choice?: number; extras?: AnswerExtras }
  | { type: 'reasoning_delta'; text: string; choice?: number }
  /**
   * `id` is the provider's own and may repeat between calls and rounds; `index` counts calls of this message from 0.
   * `extras` are other members of the call, which the vendor wants back: `extra_content`, signatures.
   */
  | { type: 'tool_call_start'; index: number; id: string; name: string; extras?: JsonObject }
  | { type: 'tool_call_delta'; index: number; arguments: string; extras?: JsonObject }
  /** Ends a complete call. `arguments` is JSON text of an object, unless `parseError` says in our words why not. */
  | { type: 'tool_call_end'; index: number; id: string; name: string; arguments: string; parseError?: string }
  | { type: 'usage'; usage: Usage }
  | {
      type: 'message_end';
      finishReason: FinishReason;
      choice?: number;
      extras?: AnswerExtras;
      providerState?: ProviderState;
    }
  /** The last event of a failed answer. */
  | { type: 'error'; error: AppError };
