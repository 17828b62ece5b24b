// Maps calls to the rows of the journal's statements and table. Pure; the statements are beside it.
import { auditArguments, auditOutcome, traceIdOf } from '#libs/audit/call-audit.js';
import { storedJson, storedJsonOrNull, storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import type { ToolCall as CallRow } from '#libs/postgres/prisma-client/client.js';
import type { NewApproval } from '#libs/waits/wait.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ServerMethod, ToolJob } from '#libs/schemas/tool-job.js';
import type { CallState, ReplayedCall, ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { AuditContext, CallEnd, PlannedCall, StoredCall } from './run-store.js';

/** Members of what `plannedCallRow` makes, as jsonb_to_recordset names them. */
export const plannedCallColumns = `id text, run_id text, round int, "position" int, kind text, principal text,
  session_id text, name text, server text, tool text, definition_hash text, arguments text, safe boolean, job text, time_budget_ms float8,
  audit jsonb, approval jsonb, state text, outcome text, audit_id uuid, result text, result_digest text, success boolean,
  error_code text, duration_ms float8, queue_wait_ms float8, cached boolean`;

export function plannedCallRow(
  call: PlannedCall,
  audit: AuditContext,
  place: { runId: string | null; round: number | null; position: number },
): JsonObject {
  const argumentsText = storedJson(call.arguments);
  return {
    id: call.id,
    run_id: place.runId,
    round: place.round,
    position: place.position,
    kind: call.kind,
    principal: storedText(call.principal),
    session_id: storedText(call.sessionId),
    name: storedText(call.name),
    server: storedText(call.server),
    tool: storedText(call.tool),
    definition_hash: storedText(call.definitionHash),
    arguments: argumentsText,
    safe: call.safe,
    job: storedJsonOrNull(call.job),
    // Both times are from one machine's clock, so the difference is right on any machine.
    time_budget_ms: call.job === undefined ? null : call.job.deadline - call.job.queuedAt,
    audit: plannedAudit(call, argumentsText, audit),
    approval: call.approval === undefined ? null : approvalRow(call.approval),
    state: call.outcome?.state ?? (call.approval === undefined ? 'planned' : 'parked'),
    ...outcomeMembers(call.outcome),
    ...(call.kind === 'client' && call.outcome === undefined ? { audit_id: uuidv7(), success: true } : {}),
    ...(call.replayed === undefined ? {} : { audit_id: null }),
  };
}

/** Members of what `endedCallRow` makes. */
export const endedCallColumns = `id text, fence bigint, worker text, isolation text, context jsonb, state text,
  outcome text, audit_id uuid, result text, result_digest text, success boolean, error_code text, duration_ms float8,
  queue_wait_ms float8, cached boolean`;

export function endedCallRow(end: CallEnd): JsonObject {
  return {
    id: storedText(end.callId),
    fence: end.fence ?? null,
    worker: end.worker ?? null,
    isolation: end.isolation ?? null,
    context: auditContext(end),
    state: end.outcome.state,
    ...outcomeMembers(end.outcome, end.outcomeText),
  };
}

/** An outcome's columns in the journal row and in the audit row. */
export function outcomeMembers(outcome: ToolOutcome | undefined, text?: string): JsonObject {
  if (outcome === undefined) return { outcome: null };
  const audit = auditOutcome(outcome);
  return {
    outcome: text ?? storedJson(outcome),
    audit_id: uuidv7(),
    result: audit.result,
    result_digest: audit.resultDigest,
    success: audit.success,
    error_code: audit.errorCode,
    duration_ms: audit.durationMs,
    queue_wait_ms: audit.queueWaitMs,
    cached: audit.cached,
  };
}

/** The kinds of audit rows of calls that are none of tools. `none`: no row. */
const auditKinds: Record<ServerMethod, string> = {
  'resources/read': 'resource_read',
  'prompts/get': 'prompt_get',
  'resources/subscribe': 'none',
  'completion/complete': 'none',
};

function plannedAudit(call: PlannedCall, argumentsText: string, audit: AuditContext): JsonObject {
  const context = auditContext(audit);
  if (call.method !== undefined) context['kind'] = auditKinds[call.method];
  if (call.policyRule !== undefined) context['policyRule'] = storedText(call.policyRule);
  if (call.replayed !== undefined) context['replayed'] = { ...call.replayed };
  if (call.approval !== undefined) context['approvalId'] = call.approval.id;
  if (call.approvedBefore !== undefined) {
    context['approvalId'] = call.approvedBefore.id;
    context['approver'] = storedText(call.approvedBefore.approver);
  }
  const audited = auditArguments(call.arguments, argumentsText);
  context['arguments'] = audited.arguments;
  context['argumentsDigest'] = audited.argumentsDigest;
  return context;
}

function approvalRow({ id, argumentsHash, reason, expiresMs, notify }: NewApproval): JsonObject {
  return { id, argumentsHash, reason: storedTextOrNull(reason), expiresMs, notify };
}

function auditContext({ requestId, traceparent, keyId, ip, model }: AuditContext): JsonObject {
  const context: JsonObject = { requestId: storedText(requestId) };
  const traceId = traceIdOf(traceparent);
  if (traceId !== null) context['traceId'] = traceId;
  if (keyId !== undefined) context['keyId'] = storedText(keyId);
  if (ip !== undefined) context['ip'] = storedText(ip);
  if (model !== undefined) context['model'] = storedText(model);
  return context;
}

export function toStoredCall(row: CallRow): StoredCall {
  const outcome = row.outcome as unknown as ToolOutcome | null;
  const job = row.job as unknown as ToolJob | null;
  const { policyRule, approvalId, signInId, replayed } = row.audit as {
    policyRule?: string;
    approvalId?: string;
    signInId?: string;
    replayed?: ReplayedCall;
  };
  const waitId = signInId ?? approvalId;
  return {
    id: row.id,
    kind: row.kind === 'client' ? 'client' : 'server',
    principal: row.principal,
    sessionId: row.sessionId,
    name: row.name,
    server: row.server,
    tool: row.tool,
    definitionHash: row.definitionHash,
    arguments: row.arguments as JsonObject,
    safe: row.safe,
    runId: row.runId,
    round: row.round,
    position: row.position,
    state: row.state as CallState,
    fence: row.fence === null ? null : String(row.fence),
    attempt: row.attempt,
    worker: row.worker,
    ...(outcome === null ? {} : { outcome }),
    ...(job === null ? {} : { job }),
    ...(policyRule === undefined ? {} : { policyRule }),
    ...(approvalId === undefined ? {} : { approvalId }),
    ...(waitId === undefined ? {} : { waitId }),
    ...(replayed === undefined ? {} : { replayed }),
  };
}
