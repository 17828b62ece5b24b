// A call that waits for a person's decision, or for an answer to what its tool server asks, and what becomes of it. Pure; the
// stores are beside it.
import type { JsonObject } from '#libs/schemas/json.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';

export const approvalStates = ['waiting', 'approved', 'denied', 'expired', 'cancelled'] as const;
export type ApprovalState = (typeof approvalStates)[number];

/** As it is written with its call, whose arguments and policy rule it has. */
export interface NewApproval {
  /** `appr_` + 24 hex digits. */
  id: string;
  /** SHA-256 of the canonical arguments (RFC 8785). */
  argumentsHash: string;
  reason?: string;
  expiresMs: number;
  /** A webhook is configured. */
  notify: boolean;
}

export interface Approval {
  id: string;
  /** `question`: the call runs, and its tool server asks its caller something. `sampling`: it asks a model; nobody sees that. */
  kind: 'approval' | 'question' | 'sampling';
  callId: string;
  /** Who asks. */
  principal: string;
  keyId: string | null;
  sessionId: string;
  runId: string | null;
  requestId: string;
  server: string;
  tool: string;
  /** The name that was called. */
  name: string;
  definitionHash: string;
  /** What runs once it is approved: as it was asked for, or as the approver edited it. */
  arguments: JsonObject;
  argumentsHash: string;
  /** Null for a question. */
  rule: string | null;
  reason: string | null;
  /** What is asked. Null for an approval, like the next two. */
  message: string | null;
  /** Of the content of an answer: flat, as MCP defines it. Of sampling, the request. */
  schema: JsonObject | null;
  /** The content, once somebody has answered. */
  answer: JsonObject | null;
  state: ApprovalState;
  createdAt: Date;
  expiresAt: Date;
  decidedAt: Date | null;
  decidedBy: string | null;
  decisionReason: string | null;
  edited: boolean;
}

export interface Decision {
  decision: 'approve' | 'deny';
  reason?: string;
  /** In place of those that were asked for; of a question, the content of the answer. */
  arguments?: JsonObject;
}

export const maxReasonLength = 1_000;

/** How a call ends that will not run. Every process that ends it writes the same. */
export function refusedOutcome({ state, decisionReason, name }: Approval): ToolOutcome {
  switch (state) {
    case 'expired':
      return failedOutcome('denied', 'approval_expired', `Nobody approved the call of '${name}' in time`);
    case 'cancelled':
      return failedOutcome('cancelled', 'cancelled', 'The call was cancelled before it was approved');
    default: {
      const because = decisionReason === null ? '' : `: ${decisionReason}`;
      return failedOutcome('denied', 'approval_denied', `The call of '${name}' was refused${because}`);
    }
  }
}

/** As the API, the events of a stream, and the webhook show it. */
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
