// Asks callers of any chat API for approvals: with calls of a reserved function, which they answer like calls of their own.
// The caller's copy of a call has no effect: the stored call is what runs. Questions of tool servers go to callers that do not
// wait in the same way.
import { type Approval, type Decision, maxReasonLength } from '#libs/approvals/approval.js';
import type { Journal, PlannedCall, StoredCall } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import { isJsonObject, jsonObjectOf } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { auditContext } from './dispatch/server-call.js';
import type { ToolProgress } from './dispatch/tool-runner.js';
import type { CallNumbering } from './assemble-message.js';

/** Reserved: callers may not bring a tool of this name. */
export const approvalRequestName = 'approval_request';

/** The journal row that the caller's answer refers to; undefined for a call that needs no approval. */
export function approvalRequest({
  approval,
  name,
  arguments: args,
  policyRule,
  ...call
}: PlannedCall): PlannedCall | undefined {
  if (approval === undefined) return undefined;
  const { id, reason, expiresMs } = approval;
  return {
    id: mintCallId(true),
    kind: 'client',
    principal: call.principal,
    sessionId: call.sessionId,
    name: approvalRequestName,
    server: '',
    tool: '',
    definitionHash: '',
    arguments: {
      id,
      tool: name,
      arguments: args,
      ...(policyRule === undefined ? {} : { rule: policyRule }),
      ...(reason === undefined ? {} : { reason }),
      expires_at: new Date(Date.now() + expiresMs).toISOString(),
    },
    safe: false,
  };
}

/** The same for a question that a tool server asks during its call. */
export function questionRequest({ id, name, message, schema, expiresAt, principal, sessionId }: Approval): PlannedCall {
  return {
    id: mintCallId(true),
    kind: 'client',
    principal,
    sessionId,
    name: approvalRequestName,
    server: '',
    tool: '',
    definitionHash: '',
    arguments: { id, kind: 'question', tool: name, message, schema, expires_at: expiresAt.toISOString() },
    safe: false,
  };
}

/** The events that show it to the caller. */
export function requestEvents(
  requests: readonly Pick<PlannedCall, 'id' | 'name' | 'arguments'>[],
  numbering: CallNumbering,
): TurnEvent[] {
  return requests.map(({ id, name, arguments: args }) => ({
    type: 'tool_call',
    index: numbering.calls++,
    clientIndex: numbering.clientCalls++,
    id,
    name,
    arguments: JSON.stringify(args),
  }));
}

/** The approval that a stored call of the reserved function refers to. */
export function approvalIdOf({ kind, name, arguments: args }: StoredCall): string | undefined {
  const { id } = args;
  return kind === 'client' && name === approvalRequestName && typeof id === 'string' ? id : undefined;
}

/** The event for a caller that chose `hold`. */
export function approvalEvent(asked: Approval): TurnEvent {
  const { id, kind, callId, name, arguments: args, rule, reason, expiresAt, message, schema } = asked;
  const approval = {
    id,
    kind,
    tool_call_id: callId,
    tool: name,
    arguments: args,
    expires_at: expiresAt.toISOString(),
    ...(rule === null ? {} : { rule }),
    ...(reason === null ? {} : { reason }),
    ...(kind === 'question' ? { message, schema } : {}),
  };
  return { type: 'approval_required', approval };
}

/** The events for progress, or a question, of a call. */
export function progressEvents(callId: string, { asks, ...progress }: ToolProgress): TurnEvent[] {
  const told: TurnEvent = { type: 'tool_progress', callId, ...progress };
  return asks === undefined ? [told] : [approvalEvent(asks), told];
}

/**
 * The decision in the caller's answer. Undefined for other answers: some agent loops respond to unknown functions on their
 * own.
 */
export function readDecision(content: string): Decision | undefined {
  const { decision, reason, arguments: args } = jsonObjectOf(content);
  if (decision !== 'approve' && decision !== 'deny') return undefined;
  if (args !== undefined && args !== null && !isJsonObject(args)) return undefined;
  return {
    decision,
    ...(typeof reason === 'string' ? { reason: reason.slice(0, maxReasonLength) } : {}),
    ...(decision === 'approve' && isJsonObject(args) ? { arguments: args } : {}),
  };
}

export interface AskedIn {
  runId: string;
  round: number;
  /** The first position after the calls of the round. */
  position: number;
}

/** Each becomes a call of the reserved function, written before the caller sees it. The new calls, in order. @throws AppError store_unavailable */
export async function askQuestions(
  questions: readonly Approval[],
  { runId, round, position }: AskedIn,
  { context }: { context: RequestContext },
  journal: Pick<Journal, 'plan'>,
): Promise<PlannedCall[]> {
  const requests = questions.map(questionRequest);
  const audit = auditContext(context);
  await Promise.all(
    requests.map((request, index) => journal.plan(request, audit, { runId, round, position: position + index })),
  );
  return requests;
}
