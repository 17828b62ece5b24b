// The events of one chat turn, as the loop emits them. All streams, the JSON answer, the stored event log and a resumed stream are
// made of these events. One TurnEvent is one SSE event of the `/api` dialect.
import type { ContentBlock } from './content-block.js';
import type { Json, JsonObject } from './json.js';
import type { AnswerExtras, FinishReason } from './model-event.js';
import type { ToolErrorCode } from './errors.js';
import type { CallerForm } from './tool-definition.js';
import type { Usage } from './usage.js';
import type { Warning } from './warning.js';

export type StopCause = 'max_rounds' | 'max_calls' | 'max_time' | 'budget' | 'repeated_failure';

export interface ToolExecution {
  executed: boolean;
  tools_called: string[];
  session_id: string;
  workspace_path: string;
  rounds: number;
  stopped_by: StopCause | null;
  calls: {
    id: string;
    name: string;
    server: string;
    success: boolean;
    duration_ms: number;
    cached: boolean;
    round: number;
    [later: string]: Json;
  }[];
}

export interface ShownToolResult {
  success: boolean;
  content: string;
  error?: { code: ToolErrorCode; message: string };
  truncated?: boolean;
  cached?: boolean;
  duration_ms: number;
  /** This and the next three are of calls outside of chats, as in their JSON answer. */
  blocks?: ContentBlock[];
  structured_content?: Json;
  meta?: JsonObject;
  session_id?: string;
}

export type TurnEvent =
  | { type: 'start'; model: string; runId: string; sessionId?: string }
  | { type: 'content'; text: string; choice?: number; extras?: AnswerExtras }
  | { type: 'reasoning'; text: string; choice?: number }
  /** `index` counts all calls of the run; `clientIndex` only calls returned to the caller, null for server calls. */
  | {
      type: 'tool_call';
      index: number;
      clientIndex: number | null;
      /** `id` and `name` on the first fragment only. */
      id?: string;
      name?: string;
      /** Other members of the call, for the caller to send back: `extra_content`. */
      extras?: JsonObject;
      /** The server of a server call, on the first fragment, if the tool is known. */
      server?: string;
      /** Set only for renderers: `name` and `arguments` are the caller's own (`chat-apis/caller-events.ts`). */
      form?: CallerForm;
      arguments: string;
    }
  | {
      type: 'tool_progress';
      callId: string;
      status: 'queued' | 'running' | 'waiting_approval';
      progress?: number;
      total?: number;
      message?: string;
    }
  | { type: 'tool_result'; callId: string; result: ShownToolResult }
  | { type: 'approval_required'; approval: JsonObject & { id: string; tool_call_id: string } }
  /** The caller has to sign in at a tool server before the call can begin. */
  | { type: 'sign_in_required'; signIn: JsonObject & { id: string; tool_call_id: string } }
  | {
      type: 'done';
      finishReason: FinishReason;
      /** For `n > 1`: the reason of each choice. */
      finishReasons?: FinishReason[];
      usage: Usage;
      toolExecution?: ToolExecution;
      extras?: AnswerExtras;
      /** Warnings about the request, without duplicates; never empty. */
      warnings?: Warning[];
    }
  /** The last event of a failed run, only in the stored log: the loop throws instead. */
  | { type: 'error'; error: JsonObject }
  /**
   * Only in the stored log of a continued run: withdraws the events numbered above `to` and below the number of this event.
   */
  | { type: 'rewind'; to: number };
