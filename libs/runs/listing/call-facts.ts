// What is stored about the calls of one run beside the journal: what they waited for, and their rows of the audit.
import type { Database } from '#libs/postgres/open-database.js';
import type { RunRow } from './run-listing.js';
import type { TimedWait } from './spent-time.js';

export interface WaitFacts extends TimedWait {
  id: string;
  kind: string;
  state: string;
  reason: string | null;
  decidedBy: string | null;
  decisionReason: string | null;
  edited: boolean;
}

export interface AuditFacts {
  id: string;
  callId: string;
  isolation: string | null;
  traceId: string | null;
  /** The code of a call that failed. */
  errorCode: string | null;
}

const selectWaits = `/* runs.waits-of-calls */
  select id, kind, call_id as "callId", state, reason, created_at as "createdAt", expires_at as "expiresAt",
    decided_at as "decidedAt", decided_by as "decidedBy", decision_reason as "decisionReason", edited
  from approvals where call_id = any($1::text[]) and kind <> 'sampling' order by created_at, id`;

/** By the index of sessions; a call ends, with its row, in the time that is given. */
const selectAudit = `/* runs.audit-of-calls */
  select id, call_id as "callId", isolation, trace_id as "traceId", error_code as "errorCode" from audit_events
  where session_id = $1 and at >= $2::timestamptz and at <= $3::timestamptz and run_id = $4
    and kind in ('tool_call', 'client_call')
  order by at desc limit $5`;

/** By when the audit row of the last call is written: its clock is read a moment after that of the call. */
const auditSlackMs = 2_000;

export const waitsOf = (database: Pick<Database, 'query'>, callIds: readonly string[]): Promise<WaitFacts[]> =>
  callIds.length === 0 ? Promise.resolve([]) : database.query<WaitFacts>(selectWaits, [callIds]);

export function auditOf(
  database: Pick<Database, 'query'>,
  run: Pick<RunRow, 'id' | 'sessionId' | 'createdAt'>,
  { calls, until }: { calls: number; until: Date },
): Promise<AuditFacts[]> {
  if (calls === 0 || run.sessionId === null) return Promise.resolve([]);
  const from = new Date(+run.createdAt - auditSlackMs);
  const to = new Date(+until + auditSlackMs);
  return database.query<AuditFacts>(selectAudit, [run.sessionId, from, to, run.id, calls * 2]);
}
