// Requests of the other endpoints below `/api`.
import type { Approval, ListedRun, RequiredSignIn } from './answers.js';
import type { GatewayEvent, JsonObject } from './chat-types.js';

export type Decision =
  /** `arguments` replace those of the call; for a question they are the answer. */
  { decision: 'approve'; arguments?: JsonObject; reason?: string } | { decision: 'deny'; reason?: string };

export interface ApprovalFilters {
  state?: Approval['state'] | readonly Approval['state'][] | undefined;
  /** The name that was called. */
  tool?: string | undefined;
  /** Who asked, for those who decide for others. */
  principal?: string | undefined;
}

export interface ToolCallBody {
  name: string;
  arguments?: JsonObject;
  session_id?: string;
  timeout_ms?: number;
}

/** What happens while a call runs: it is queued, begins, tells its progress, or its tool server asks something. */
export type ToolCallEvent = Extract<GatewayEvent, { type: 'tool_progress' | 'approval_required' | 'sign_in_required' }>;

/** Which runs are listed: those that fulfil all that is given. */
export interface RunFilters {
  state?: ListedRun['state'] | undefined;
  /** As the caller named it, or `provider/model` of a model that answered. */
  model?: string | undefined;
  /** For administrators, who see everybody's runs. */
  principal?: string | undefined;
  session?: string | undefined;
  /** `server/tool`, or a tool name on any server. */
  tool?: string | undefined;
  /** The code of the error that the run ended with. */
  error?: string | undefined;
  /** Text in the id of the run, or in the beginning of the last message of the user. */
  text?: string | undefined;
  /** ISO 8601. */
  since?: string | undefined;
  until?: string | undefined;
}

/** What a replay changes; absent members stay as they were in the run. */
export interface ReplayBody {
  model?: string | undefined;
  /** They replace the whole conversation before the first answer. */
  messages?: readonly JsonObject[] | undefined;
  /** The text of a policy file, YAML or JSON, which judges the calls of the replay. */
  policy?: string | undefined;
}

/** The call did not run yet: somebody has to decide. */
export interface WaitingCall {
  approval: Approval;
  /** The call runs once it is approved; repeated with this key, it returns its outcome. */
  idempotencyKey: string;
}

/** The call did not run yet: whoever it is for has to sign in at its tool server. */
export interface UnconnectedCall {
  sign_in: RequiredSignIn;
  /** The call runs once that has happened; repeated with this key, it returns its outcome. */
  idempotencyKey: string;
}

/** A mistake in a draft of the policy; line and column from 1. */
export interface TextProblem {
  message: string;
  key?: string;
  line?: number;
  column?: number;
}
