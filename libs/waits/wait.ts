// What a call waits for that somebody outside gives: an approval, a sign-in, or the answer of people or a model to its tool server.
// Pure; how one kind differs from the next is in wait-kinds.ts.
import type { JsonObject } from '#libs/schemas/json.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';

export const waitStates = ['waiting', 'approved', 'denied', 'expired', 'cancelled'] as const;
export type WaitState = (typeof waitStates)[number];

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

export interface Wait {
  id: string;
  /**
   * `sign_in`: the call did not begin, because its caller has to sign in at the tool server. `question`: the tool server asks the
   * caller while the call runs. `sampling`: the tool server asks a model; no person sees it.
   */
  kind: 'approval' | 'sign_in' | 'question' | 'sampling';
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
  /** Null for everything but an approval. */
  rule: string | null;
  reason: string | null;
  /** The text of the question. Null for an approval, like the next two. */
  message: string | null;
  /** The flat schema of an answer's content, as MCP defines it; for sampling, the request; for a sign-in, its `scopes`. */
  schema: JsonObject | null;
  /** The content of the answer, once somebody has answered. */
  answer: JsonObject | null;
  state: WaitState;
  createdAt: Date;
  expiresAt: Date;
  decidedAt: Date | null;
  decidedBy: string | null;
  decisionReason: string | null;
  edited: boolean;
  /** Where the caller signs in. Only of a sign-in, and only where addresses are known: in gateways. */
  authorizationUrl?: string;
}

export interface WaitDecision {
  decision: 'approve' | 'deny';
  reason?: string;
  /** Replaces the arguments of the call; for a question, the content of the answer. */
  arguments?: JsonObject;
}

export const maxReasonLength = 1_000;

/** The rule that requires the approval, and its reason. Undefined for a question. */
export function whyAsked({ rule, reason }: Pick<Wait, 'rule' | 'reason'>): string | undefined {
  if (rule === null || ((rule === 'request' || rule.startsWith('default')) && reason !== null))
    return reason ?? undefined;
  return reason === null ? `The rule '${rule}' asks` : `The rule '${rule}' asks: ${reason}`;
}

/** The outcome of a parked call that will not run, the same in every process. Undefined while the call may still run. */
export function refusedOutcome({
  state,
  decisionReason,
  name,
  ...asked
}: Pick<Wait, 'state' | 'decisionReason' | 'name' | 'rule' | 'reason'>): ToolOutcome | undefined {
  switch (state) {
    case 'waiting':
    case 'approved':
      return undefined;
    case 'expired': {
      const why = whyAsked(asked);
      const message = `Nobody approved the call of '${name}' in time${why === undefined ? '' : `. ${why}`}`;
      return failedOutcome('denied', 'approval_expired', message);
    }
    case 'cancelled':
      return failedOutcome('cancelled', 'cancelled', 'The call was cancelled before it was approved');
    case 'denied': {
      const because = decisionReason === null ? '' : `: ${decisionReason}`;
      return failedOutcome('denied', 'approval_denied', `The call of '${name}' was refused${because}`);
    }
  }
}

/** The form shown by the API, the events of a stream, and the webhook. */
export function shownWait(approval: Wait): JsonObject {
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
    ...(approval.kind === 'sign_in' && {
      schema: null,
      scopes: approval.schema?.['scopes'] ?? [],
      authorization_url: approval.authorizationUrl ?? null,
    }),
  };
}
