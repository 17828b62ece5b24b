// An approval: a call that waits for a person's decision, or for the answer to a question of its tool server. Pure; the stores are
// in other files of this folder.
import type { JsonObject } from '#libs/schemas/json.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';

export const approvalStates = ['waiting', 'approved', 'denied', 'expired', 'cancelled'] as const;
export type ApprovalState = (typeof approvalStates)[number];

/** An approval before it is written together with its call, which has the arguments and the policy rule. */
export interface NewApproval {
  /** `appr_` + 24 hex digits. */
  id: string;
  /** SHA-256 of the canonical arguments (RFC 8785). */
  argumentsHash: string;
  reason?: string;
  expiresMs: number;
  notify: boolean;
}

export interface Approval {
  id: string;
  /** `question`: the tool server asks the caller while the call runs. `sampling`: the tool server asks a model; no person sees it. */
  kind: 'approval' | 'question' | 'sampling';
  callId: string;
  principal: string;
  keyId: string | null;
  sessionId: string;
  runId: string | null;
  requestId: string;
  server: string;
  tool: string;
  name: string;
  definitionHash: string;
  /** The arguments that run after the approval: those of the call, or the approver's edited version. */
  arguments: JsonObject;
  argumentsHash: string;
  /** Null for a question. */
  rule: string | null;
  reason: string | null;
  /** The text of the question. Null for an approval, like the next two. */
  message: string | null;
  /** The flat schema of an answer's content, as MCP defines it; for sampling, the request. */
  schema: JsonObject | null;
  /** The content of the answer, once somebody has answered. */
  answer: JsonObject | null;
  state: ApprovalState;
  createdAt: Date;
  expiresAt: Date;
  decidedAt: Date | null;
  decidedBy: string | null;
  decisionReason: string | null;
  edited: boolean;
}

export interface ApprovalDecision {
  decision: 'approve' | 'deny';
  reason?: string;
  /** Replaces the arguments of the call; for a question, the content of the answer. */
  arguments?: JsonObject;
}

export const maxReasonLength = 1_000;

/** The rule that requires the approval, and its reason. Undefined for a question. */
export function whyAsked({ rule, reason }: Pick<Approval, 'rule' | 'reason'>): string | undefined {
  if (rule === null || ((rule === 'request' || rule.startsWith('default')) && reason !== null))
    return reason ?? undefined;
  return reason === null ? `The rule '${rule}' asks` : `The rule '${rule}' asks: ${reason}`;
}

/** The outcome of a call that will not run, the same in every process. */
export function refusedOutcome({ state, decisionReason, name, ...asked }: Approval): ToolOutcome {
  switch (state) {
    case 'expired': {
      const why = whyAsked(asked);
      const message = `Nobody approved the call of '${name}' in time${why === undefined ? '' : `. ${why}`}`;
      return failedOutcome('denied', 'approval_expired', message);
    }
    case 'cancelled':
      return failedOutcome('cancelled', 'cancelled', 'The call was cancelled before it was approved');
    default: {
      const because = decisionReason === null ? '' : `: ${decisionReason}`;
      return failedOutcome('denied', 'approval_denied', `The call of '${name}' was refused${because}`);
    }
  }
}

/** The form shown by the API, the events of a stream, and the webhook. */
export function shownApproval(approval: Approval): JsonObject {
  const time = (date: Date | null) => date?.toISOString() ?? null;
  return {
    id: approval.id,
    kind: approval.kind,
    state: approval.state,
    tool_call_id: approval.callId,
    tool: approval.name,
    server: approval.server,
    arguments: approval.arguments,
    arguments_hash: approval.argumentsHash,
    rule: approval.rule,
    reason: approval.reason,
    message: approval.message,
    schema: approval.schema,
    principal: approval.principal,
    session_id: approval.sessionId,
    run_id: approval.runId,
    created_at: time(approval.createdAt),
    expires_at: time(approval.expiresAt),
    decided_at: time(approval.decidedAt),
    decided_by: approval.decidedBy,
    decision_reason: approval.decisionReason,
    edited: approval.edited,
  };
}
