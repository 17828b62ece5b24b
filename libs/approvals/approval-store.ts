// Approvals in the database. They are written together with their calls (libs/runs/write-parts.ts). A decision is one
// conditional statement, so only the first one counts. The journal runs a parked call only if its approval permits it.
import { auditArguments } from '#libs/audit/call-audit.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Database } from '#libs/postgres/open-database.js';
import { storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import type { Approval, ApprovalState, ApprovalDecision } from './approval.js';

export interface Approver {
  principal: string;
  requestId: string;
  keyId?: string | undefined;
  ip?: string | undefined;
}

export interface ApprovalQuery {
  /** Selects approvals of this principal. */
  principal?: string | undefined;
  states?: readonly ApprovalState[] | undefined;
  /** The name that was called. */
  tool?: string | undefined;
  oldestFirst?: boolean | undefined;
  after?: string | undefined;
  limit: number;
}

export const approvalColumns = `id, kind, call_id as "callId", request_id as "requestId", principal, key_id as "keyId",
  session_id as "sessionId", run_id as "runId", server, tool, name, definition_hash as "definitionHash", arguments,
  arguments_hash as "argumentsHash", rule, reason, message, schema, answer, state, created_at as "createdAt", expires_at as "expiresAt",
  decided_at as "decidedAt", decided_by as "decidedBy", decision_reason as "decisionReason", edited`;

/** A call outside of runs that its caller repeats with the same arguments. */
export interface RepeatedCall {
  principal: string;
  name: string;
  argumentsHash: string;
  sessionId?: string | undefined;
}

const repeated = `principal = $1 and run_id is null and name = $2 and asked_hash = $3
  and ($4::text is null or session_id = $4)`;

/** The run has ended, or is interrupted and nobody can continue it, so that its calls can no longer run. */
const isOver = `(run.state in ('cancelled', 'failed')
  or (run.state = 'interrupted' and run.idempotency_key is null and not run.detached))`;

/** Also copies the approver and the edited arguments to the call, whose audit row shows both. */
const decide = `/* approvals.decide */ with
  decided as (
    update approvals set state = $7, decided_at = clock_timestamp(), decided_by = $3, decision_reason = $8,
      arguments = coalesce($9::json, arguments), arguments_hash = coalesce($10, arguments_hash),
      edited = $9::json is not null, notify_at = null
    where id = $6 and state = 'waiting' and expires_at > clock_timestamp()
      and exists (select from tool_calls call where call.id = approvals.call_id and call.state = 'parked')
      and not exists (select from runs run where run.id = approvals.run_id and ${isOver})
    returning *),
  called as (
    update tool_calls call set arguments = coalesce($9::json, call.arguments),
      audit = call.audit || jsonb_build_object('approver', $3::text) || coalesce($11::jsonb, '{}')
    from decided where call.id = decided.call_id),
  audited as (
    insert into audit_events (id, at, kind, request_id, principal, key_id, ip, call_id, session_id, run_id, server, tool,
      name, definition_hash, arguments, success, state, policy_rule, approval_id, approver, result)
    select $1::uuid, clock_timestamp(), 'approval', $2, principal, $4, $5, call_id, session_id, run_id, server, tool, name,
      definition_hash, coalesce($11::jsonb->>'arguments', (select call.audit->>'arguments' from tool_calls call
        where call.id = call_id)), state = 'approved', state, rule, id, $3, $8
    from decided where $12::boolean)
  select ${approvalColumns} from decided`;

/**
 * Approvals that have expired, or whose call nobody can continue. An approved call waits one day for its caller. Includes
 * approvals that have ended but whose call has not.
 */
const lapsed = `/* approvals.lapsed */ with
  open as (
    select id from approvals where state = 'waiting'
    union select approvals.id from tool_calls call join approvals on approvals.call_id = call.id
    where call.state = 'parked' and approvals.kind = 'approval'),
  judged as (
    select approval.*, case
        when approval.state in ('denied', 'expired', 'cancelled') then approval.state
        when case approval.kind
          when 'approval' then call.state is distinct from 'parked'
          else call.state is distinct from 'dispatched' or call.fence is distinct from approval.fence end then 'cancelled'
        when ${isOver} then 'cancelled'
        when approval.state = 'waiting' and approval.expires_at <= clock_timestamp() then 'expired'
        when approval.state = 'approved' and approval.decided_at < clock_timestamp() - interval '1 day' then 'expired'
      end as verdict
    from open join approvals approval using (id)
      left join tool_calls call on call.id = approval.call_id
      left join runs run on run.id = approval.run_id)
  select ${approvalColumns.replace(' state,', ' verdict as state,')} from judged where verdict is not null
  order by id limit $1`;

const close = `/* approvals.close */
  update approvals set state = $2, decided_at = clock_timestamp(), notify_at = null
  where id = $1 and (state = 'waiting' or (state = 'approved' and kind = 'approval')) returning id`;

const forget = `/* approvals.forget */ delete from approvals where id in (
    select id from approvals where created_at < clock_timestamp() - interval '1 day'
      and not exists (select from tool_calls call where call.id = approvals.call_id)
    order by created_at limit 1000)`;

export class ApprovalStore {
  private readonly audit: boolean;

  constructor(
    private readonly database: Pick<Database, 'query'>,
    /** `audit: false` writes no audit rows (`audit.enabled`). */
    { audit = true }: { audit?: boolean } = {},
  ) {
    this.audit = audit;
  }

  async get(id: string): Promise<Approval | undefined> {
    return (await this.byIds([id]))[0];
  }

  byIds(ids: readonly string[]): Promise<Approval[]> {
    return this.database.query<Approval>(
      `/* approvals.get */ select ${approvalColumns} from approvals where id = any($1)`,
      [ids.map(storedText)],
    );
  }

  /** Approvals and questions, newest first unless the query says otherwise; requests to models are left out. */
  list({ principal, states, tool, oldestFirst = false, after, limit }: ApprovalQuery): Promise<Approval[]> {
    const [beyond, order] = oldestFirst ? ['>', 'asc'] : ['<', 'desc'];
    // A statement of its own, so that the index of what waits is used.
    const isWaiting = states?.length === 1 && states[0] === 'waiting';
    const [name, inState] = isWaiting ? ['waiting', `state = 'waiting'`] : ['list', 'true'];
    return this.database.query<Approval>(
      `/* approvals.${name}-${order} */ select ${approvalColumns} from approvals
       where kind <> 'sampling' and ${inState} and ($1::text is null or principal = $1) and ($2::text is null or name = $2)
         and ($3::text is null or (created_at, id) ${beyond} (select created_at, id from approvals where id = $3))
         and ($5::text[] is null or state = any($5))
       order by created_at ${order}, id ${order} limit $4`,
      [storedTextOrNull(principal), storedTextOrNull(tool), storedTextOrNull(after), limit, states ?? null],
    );
  }

  /** Undefined if the approval was decided before, has expired, or its call has ended. */
  async decide(id: string, { decision, reason, arguments: edited }: ApprovalDecision, by: Approver) {
    const [decided] = await this.database.query<Approval>(decide, [
      uuidv7(),
      storedText(by.requestId),
      storedText(by.principal),
      storedTextOrNull(by.keyId),
      by.ip ?? null,
      storedText(id),
      decision === 'approve' ? 'approved' : 'denied',
      storedTextOrNull(reason),
      edited === undefined ? null : JSON.stringify(edited),
      edited === undefined ? null : canonicalHash(edited),
      edited === undefined ? null : JSON.stringify(auditArguments(edited)),
      this.audit,
    ]);
    return decided;
  }

  lapsed(limit: number): Promise<Approval[]> {
    return this.database.query<Approval>(lapsed, [limit]);
  }

  /** False if the approval was decided or closed before. */
  async close(id: string, state: 'expired' | 'cancelled'): Promise<boolean> {
    return (await this.database.query(close, [id, state])).length > 0;
  }

  async forget(): Promise<void> {
    await this.database.query(forget, []);
  }

  /** How many calls wait for a person, and how long the oldest has waited: 0 if none waits. */
  async waiting(): Promise<{ count: number; oldestAgeMs: number }> {
    const statement = `/* approvals.count */ select count(*)::int as count,
        coalesce(extract(epoch from clock_timestamp() - min(created_at)) * 1000, 0)::float8 as "oldestAgeMs"
      from approvals where kind <> 'sampling' and state = 'waiting' and expires_at > clock_timestamp()`;
    const [row] = await this.database.query<{ count: number; oldestAgeMs: number }>(statement, []);
    return row!;
  }

  async waitingOf(principal: string, ids: readonly string[]): Promise<{ waiting: number; written: string[] }> {
    const [row] = await this.database.query<{ waiting: number; written: string[] }>(
      `/* approvals.waiting-of */ select
         (select count(*)::int from approvals where kind = 'approval' and principal = $1 and state = 'waiting'
           and expires_at > clock_timestamp()) as waiting,
         array(select id from approvals where id = any($2)) as written`,
      [storedText(principal), ids],
    );
    return row!;
  }

  /** The newest approval for a call outside of runs with these arguments that is waiting, or approved and not used yet. */
  async ofRepeatedCall(call: RepeatedCall): Promise<Approval | undefined> {
    const [found] = await this.database.query<Approval>(
      `/* approvals.repeated */ select ${approvalColumns} from approvals where ${repeated} and kind = 'approval'
         and (state = 'approved' or (state = 'waiting' and expires_at > clock_timestamp()))
         and exists (select from tool_calls call where call.id = approvals.call_id and call.state = 'parked')
       order by created_at desc limit 1`,
      repeatedValues(call),
    );
    return found;
  }

  /** The approval with this id in any state, provided that it belongs to this call outside of runs. */
  async ofCall(id: string, call: RepeatedCall): Promise<Approval | undefined> {
    const [found] = await this.database.query<Approval>(
      `/* approvals.of-call */ select ${approvalColumns} from approvals where ${repeated} and id = $5 and kind <> 'sampling'`,
      [...repeatedValues(call), storedText(id)],
    );
    return found;
  }

  /** Takes approvals whose notification is due. Each is due again after `retryMs` until the webhook has accepted it. */
  takeDue(limit: number, retryMs: readonly number[]): Promise<(Approval & { notices: number })[]> {
    return this.database.query<Approval & { notices: number }>(
      `/* approvals.due */ update approvals set notices = notices + 1,
         notify_at = clock_timestamp() + ($2::float8[])[notices + 1] * interval '1 millisecond'
       where id in (select id from approvals where notify_at <= clock_timestamp() and state = 'waiting'
         order by notify_at limit $1 for update skip locked)
       returning ${approvalColumns}, notices`,
      [limit, retryMs],
    );
  }

  async notified(id: string): Promise<void> {
    await this.database.query(`/* approvals.notified */ update approvals set notify_at = null where id = $1`, [id]);
  }
}

function repeatedValues({ principal, name, argumentsHash, sessionId }: RepeatedCall) {
  return [storedText(principal), storedText(name), argumentsHash, storedTextOrNull(sessionId)];
}
