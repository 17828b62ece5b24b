// Requests of the other endpoints below `/api`.
import type { Approval } from './answers.js';
import type { JsonObject } from './chat-types.js';

export type Decision =
  /** `arguments` replace those of the call; for a question they are the answer. */
  { decision: 'approve'; arguments?: JsonObject; reason?: string } | { decision: 'deny'; reason?: string };

export interface ToolCallRequest {
  name: string;
  arguments?: JsonObject;
  session_id?: string;
  timeout_ms?: number;
}

/** The call did not run yet: somebody has to decide. */
export interface WaitingCall {
  approval: Approval;
  /** The call runs once it is approved; repeated with this key, it returns its outcome. */
  idempotencyKey: string;
}
