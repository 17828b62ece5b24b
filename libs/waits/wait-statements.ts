// The statements about waits, all over the table `approvals`. What differs between kinds comes from wait-kinds.ts.
import { endedCallColumns } from '#libs/runs/call-rows.js';
import { insertAudit } from '#libs/runs/write-parts.js';
import { maxSignInsOfCall } from './sign-in.js';
import { kindsForPeople, parkedKinds } from './wait-kinds.js';

export const waitColumns = `id, kind, call_id as "callId", request_id as "requestId", principal, key_id as "keyId",
  session_id as "sessionId", run_id as "runId", server, tool, name, definition_hash as "definitionHash", arguments,
  arguments_hash as "argumentsHash", rule, reason, message, schema, answer, state, created_at as "createdAt", expires_at as "expiresAt",
  decided_at as "decidedAt", decided_by as "decidedBy", decision_reason as "decisionReason", edited`;

/** The run has ended, or is interrupted and nobody can continue it, so that its calls can no longer run. */
const isOver = `(run.state in ('cancelled', 'failed')
  or (run.state = 'interrupted' and run.idempotency_key is null and not run.detached))`;

/** The call still waits: parked, or running under the claim that asked. */
export const isHeld = `exists (select from tool_calls call where call.id = approvals.call_id
    and case when approvals.kind in ${parkedKinds} then call.state = 'parked'
      else call.state = 'dispatched' and call.fence = approvals.fence end)`;

/**
 * Every end of a wait: `$2` is its state, `$3` who decided; null if nobody did. The first end counts. The same statement writes the
 * audit row of a decision (`$11`), and what becomes of a parked call: its edited arguments, or the end of the call (`$8`) with its
 * audit row. A call whose wait was ended without it, by a gateway of an earlier version, is ended too.
 */
export const settle = `/* waits.settle */ with
  settled as (
    update approvals set state = $2, decided_at = clock_timestamp(), decided_by = coalesce($3, decided_by),
      decision_reason = coalesce($4, decision_reason), arguments = coalesce($5::json, arguments),
      arguments_hash = coalesce($6::text, arguments_hash), edited = edited or $6::text is not null,
      answer = coalesce($7::json, answer), notify_at = null
    where id = $1 and case
      when $3::text is null then state = 'waiting' or (state = 'approved' and kind in ${parkedKinds} and ${isHeld})
      else state = 'waiting' and expires_at > clock_timestamp() and coalesce(decided_by, $3) = $3 and ${isHeld}
        and not exists (select from runs run where run.id = approvals.run_id and ${isOver}) end
    returning *),
  verdict as (select * from jsonb_to_recordset($8::jsonb) as verdict (${endedCallColumns})),
  due as (
    select call_id from settled where kind in ${parkedKinds}
    union select call_id from approvals where id = $1 and state = $2 and kind in ${parkedKinds} and $3::text is null),
  called as (
    update tool_calls call set arguments = coalesce($5::json, call.arguments), audit = call.audit || $9::jsonb,
      state = coalesce(verdict.state, call.state), outcome = coalesce(verdict.outcome::json, call.outcome),
      ended_at = case when verdict.id is null then call.ended_at else clock_timestamp() end
    from due left join verdict on true
    where call.id = due.call_id and call.state = 'parked'
    returning verdict.audit_id, call.id, call.audit, call.principal, call.session_id, call.run_id, call.round, call.server,
      call.tool, call.name, call.definition_hash, verdict.result, verdict.result_digest, verdict.success, call.state,
      verdict.error_code, verdict.duration_ms, verdict.queue_wait_ms, call.attempt, verdict.cached, null as isolation,
      call.worker),
  told as (
    insert into audit_events (id, at, kind, request_id, principal, key_id, ip, call_id, session_id, run_id, server, tool,
      name, definition_hash, arguments, arguments_digest, result, result_digest, model, success, state, error_code,
      duration_ms, policy_rule, approval_id, approver)
    select $10::uuid, clock_timestamp(), settled.kind, coalesce(told.request_id, settled.request_id), settled.principal,
      case when $3::text is null then settled.key_id else told.key_id end, told.ip, call_id,
      session_id, run_id, server, tool, name, definition_hash,
      coalesce(told.arguments, case when settled.kind in ${parkedKinds} then (
        select call.audit->>'arguments' from tool_calls call where call.id = call_id) end),
      told.arguments_digest, told.result, told.result_digest, told.model, state = 'approved', state, told.error_code,
      told.duration_ms, rule, told.approval_id, told.approver
    from settled, jsonb_to_recordset($11::jsonb) as told (request_id text, key_id text, ip text, arguments text,
      arguments_digest text, result text, result_digest text, model text, error_code text, duration_ms float8,
      approval_id text, approver text)
    where $12::boolean),
  ended as (${insertAudit('called where audit_id is not null and $12::boolean')})
  select ${waitColumns} from settled`;

/**
 * Waits that have expired, or whose call nobody can continue. An approved call waits one day for its caller. Includes waits that
 * have ended but whose call is parked.
 */
export const lapsed = `/* waits.lapsed */ with
  open as (
    select id from approvals where state = 'waiting'
    union select approvals.id from tool_calls call join approvals on approvals.call_id = call.id
    where call.state = 'parked' and approvals.kind in ${parkedKinds}),
  judged as (
    select approvals.*, case
        when approvals.state in ('denied', 'expired', 'cancelled') then approvals.state
        when not ${isHeld} or ${isOver} then 'cancelled'
        when approvals.state = 'waiting' and approvals.expires_at <= clock_timestamp() then 'expired'
        when approvals.state = 'approved' and approvals.decided_at < clock_timestamp() - interval '1 day' then 'expired'
      end as verdict
    from open join approvals using (id) left join runs run on run.id = approvals.run_id)
  select ${waitColumns.replace(' state,', ' verdict as state,')} from judged where verdict is not null
  order by id limit $1`;

/**
 * Sign-ins that wait although the principal has connected: the gateway that took the sign-in has died, or the call was parked in the
 * same moment. A call whose server refuses the new token too asks again, a few times.
 */
export const signedIn = `/* waits.signed-in */ select distinct approvals.principal, approvals.server
  from approvals join connections using (principal, server)
  where approvals.kind = 'sign_in' and approvals.state = 'waiting' and connections.state = 'connected'
    and connections.wanted_scopes = '{}' and connections.connected_at > approvals.created_at - interval '5 seconds'
  limit $1`;

export const ask = `/* waits.ask */
  insert into approvals (id, kind, call_id, fence, request_id, principal, key_id, session_id, run_id, server, tool, name,
    definition_hash, arguments, arguments_hash, asked_hash, message, schema, created_at, expires_at, notify_at)
  select $1, $9, id, fence, coalesce(audit->>'requestId', ''), principal, audit->>'keyId', session_id, run_id, server,
    tool, name, definition_hash, arguments, $4, $4, $5, $6::json, clock_timestamp(),
    clock_timestamp() + $7::float8 * interval '1 millisecond', case when $8::boolean then clock_timestamp() end
  from tool_calls where id = $2 and state = 'dispatched' and fence = $3::bigint
  on conflict (id) do update set id = excluded.id returning id`;

/**
 * Parks a call whose tool has not begun, under its claim (`$3`), or if it has none, for a sign-in at the server `$5`. The call is then as
 * it was before a worker took it.
 */
export const park = `/* waits.park */ with
  parked as (
    update tool_calls call set state = 'parked', fence = null, worker = null, dispatched_at = null,
      attempt = call.attempt - case call.state when 'dispatched' then 1 else 0 end,
      audit = call.audit || jsonb_build_object('signInId', $1::text)
    where id = $2 and kind = 'server'
      and case when $3::bigint is not null then state = 'dispatched' and fence = $3::bigint
        else state = 'planned' or (state = 'dispatched' and safe and worker = $4) end
      and (select count(*) from approvals where call_id = $2 and approvals.kind = 'sign_in') < ${maxSignInsOfCall}
      and (select count(*) from approvals where approvals.principal = call.principal and approvals.kind in ${parkedKinds}
        and approvals.state = 'waiting' and expires_at > clock_timestamp()) < $9
    returning *)
  insert into approvals (id, kind, call_id, request_id, principal, key_id, session_id, run_id, server, tool, name,
    definition_hash, arguments, arguments_hash, asked_hash, schema, created_at, expires_at)
  select $1, 'sign_in', id, coalesce(audit->>'requestId', ''), principal, audit->>'keyId', session_id, run_id, $5, tool,
    name, definition_hash, arguments, $6,
    coalesce((select asked_hash from approvals where call_id = $2 and kind = 'approval'), $6), $7::json,
    clock_timestamp(), clock_timestamp() + $8::float8 * interval '1 millisecond'
  from parked returning id`;

/** Gives a wait to one gateway, which must take it again before its lease is over. */
export const take = `/* waits.take */ update approvals set decided_by = $2,
    expires_at = clock_timestamp() + $3::float8 * interval '1 millisecond'
  where id = $1 and kind not in ${kindsForPeople} and state = 'waiting' and expires_at > clock_timestamp()
    and coalesce(decided_by, $2) = $2 and ${isHeld} returning id`;

/**
 * Gives an approval whose call was refused a place, and never began, to the next call (`$1`) with the same arguments. The row of that
 * call is written later: until then nobody else can take the approval.
 */
export const takeUnused = `/* waits.take-unused */ update approvals set call_id = $1
  where id = (
    select approvals.id from approvals join tool_calls call on call.id = approvals.call_id
    where approvals.principal = $2 and approvals.name = $3 and approvals.arguments_hash = $4
      and approvals.definition_hash = $5 and ($6::text is null or approvals.session_id = $6)
      and (approvals.run_id is not null) = $7::boolean
      and approvals.kind = 'approval' and approvals.state = 'approved' and approvals.expires_at > clock_timestamp()
      and call.state = 'cancelled' and call.attempt = 0 and call.fence is null
      and call.outcome->'error'->>'code' = 'tool_unavailable'
    order by approvals.created_at limit 1 for update of approvals skip locked)
  returning ${waitColumns}`;

export const forget = `/* waits.forget */ delete from approvals where id in (
    select id from approvals where created_at < clock_timestamp() - interval '1 day'
      and not exists (select from tool_calls call where call.id = approvals.call_id)
    order by created_at limit 1000)`;

export const takeDue = `/* waits.due */ update approvals set notices = notices + 1,
    notify_at = clock_timestamp() + ($2::float8[])[notices + 1] * interval '1 millisecond'
  where id in (select id from approvals where notify_at <= clock_timestamp() and state = 'waiting'
    order by notify_at limit $1 for update skip locked)
  returning ${waitColumns}, notices`;

/** How many calls wait for people, and how long the oldest has waited. */
export const countWaiting = `/* waits.count */ select count(*)::int as count,
    coalesce(extract(epoch from clock_timestamp() - min(created_at)) * 1000, 0)::float8 as "oldestAgeMs"
  from approvals where kind in ${kindsForPeople} and state = 'waiting' and expires_at > clock_timestamp()`;

export const waitingOf = `/* waits.of-principal */ select
    (select count(*)::int from approvals where kind in ${parkedKinds} and principal = $1 and state = 'waiting'
      and expires_at > clock_timestamp()) as waiting,
    array(select id from approvals where id = any($2)) as written`;
