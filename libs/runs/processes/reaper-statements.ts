// The statements of the reaper. Every statement decides by the database's clock what is lost, so any process may run it at any
// time, concurrently with others. A statement takes a bounded number of rows and skips locked rows.
import { endedCallColumns } from '../call-rows.js';
import { deletePartsOfRuns } from '../delete-parts-of-runs.js';
import { hasAudit, insertAudit } from '../write-parts.js';

const milliseconds = (parameter: string): string => `${parameter}::float8 * interval '1 millisecond'`;

/** No living process has this id. `expiry`: the parameter with the expiry of heartbeats. */
const nobody = (owner: string, expiry: string): string => `not exists (
    select from processes process
    where process.id = ${owner} and process.heartbeat_at > clock_timestamp() - ${milliseconds(expiry)})`;

export const expiredWorkers = `/* reaper.expired-workers */
  select id from processes where kind = 'worker' and gone_at is null and heartbeat_at <= clock_timestamp() - ${milliseconds('$1')}`;

/** A worker that did not say that it stops is kept for `$2`, for people; it is returned once. */
export const removeExpired = `/* reaper.remove-expired */ with
  gone as (
    update processes set gone_at = clock_timestamp()
    where kind = 'worker' and not draining and gone_at is null
      and heartbeat_at <= clock_timestamp() - ${milliseconds('$1')}
    returning id, draining),
  removed as (
    delete from processes where heartbeat_at <= clock_timestamp() - ${milliseconds('$1')}
      and (kind <> 'worker' or draining or gone_at < clock_timestamp() - ${milliseconds('$2')})
    returning id, draining, gone_at)
  select * from gone union all select id, draining from removed where gone_at is null`;

/** The ids among `$1` that are not registered any more. */
export const unknownProcesses = `/* reaper.unknown-processes */
  select id from unnest($1::text[]) as named (id)
  where not exists (select from processes where processes.id = named.id and gone_at is null)`;

/** If a dead worker's session is taken meanwhile, the lease has a new row, which this statement does not delete. */
export const freeLeases = `/* reaper.free-leases */
  delete from session_leases where (principal, session_id) in (
    select principal, session_id from session_leases lease where ${nobody('lease.worker', '$1')}
    order by principal, session_id limit $2 for update skip locked)
  returning worker`;

export const interruptRuns = `/* reaper.interrupt-runs */
  update runs set state = 'interrupted', ended_at = clock_timestamp()
  where id in (
    select id from runs where state = 'running' and ${nobody('runs.owner', '$1')}
    order by id limit $2 for update skip locked)
  returning id`;

/** Ends the calls selected by `condition` with the outcome `$1`. */
const endCallsWhere = (name: string, condition: string): string => `/* reaper.${name} */ with
  verdict as (select * from jsonb_to_recordset($1::jsonb) as verdict (${endedCallColumns})),
  picked as (
    select call.id from tool_calls call where call.kind = 'server' and ${condition}
    order by call.id limit $3 for update of call skip locked),
  ended as (
    update tool_calls call set state = verdict.state, outcome = verdict.outcome::json, ended_at = clock_timestamp()
    from picked, verdict where call.id = picked.id
    returning gen_random_uuid() as audit_id, call.id, call.audit, call.principal, call.session_id, call.run_id,
      call.round, call.server, call.tool, call.name, call.definition_hash, verdict.result, verdict.result_digest,
      verdict.success, call.state, verdict.error_code, verdict.duration_ms, verdict.queue_wait_ms, call.attempt,
      verdict.cached, verdict.isolation, call.worker, call.job),
  audited as (${insertAudit(`ended where $2::boolean and ${hasAudit}`)})
  select id, job from ended`;

/**
 * The interrupted runs that can be continued: detached runs, and keyed runs for as long after the interruption as a turn may take.
 */
const canBeContinued = (turnMs: string): string => `(runs.state = 'interrupted' and (runs.detached
    or (runs.idempotency_key is not null and runs.ended_at > clock_timestamp() - ${milliseconds(turnMs)})))`;

/** The run of a planned call is running or can be continued, so its gateway decides about the call. */
const belongsToRun = (turnMs: string, expiry: string): string => `exists (
    select from runs where runs.id = call.run_id
      and (${canBeContinued(turnMs)} or (runs.state = 'running' and not ${nobody('runs.owner', expiry)})))`;

/** `$4` is how long a turn may take. A call that was parked may have left that state after its run, for a later turn. */
export const cancelOrphans = endCallsWhere(
  'cancel-orphans',
  `call.state = 'planned' and exists (
    select from runs where runs.id = call.run_id and runs.state <> 'running'
      and not ${canBeContinued('$4')}
      and not (runs.state = 'done' and call.audit ?| array['approvalId', 'signInId']))`,
);

export const judgeUnsafe = endCallsWhere(
  'judge-unsafe',
  `call.state = 'dispatched' and not call.safe and ${nobody('call.worker', '$4')}`,
);

/** Ends safe calls that have lost three workers. */
export const judgeWorn = endCallsWhere(
  'judge-worn',
  `call.state = 'dispatched' and call.safe and call.attempt >= 3 and ${nobody('call.worker', '$4')}`,
);

/**
 * `$4` is how long after its time an unclaimed call is given up. A call of a living gateway may wait `$5` longer for
 * earlier calls or for a place in its limits: its gateway ends it, and knows why. So may a call whose run may still be
 * continued. `$6` is the expiry.
 */
export const giveUpOverdue = endCallsWhere(
  'give-up-overdue',
  `call.state = 'planned' and call.planned_at < clock_timestamp() - ${milliseconds('(call.time_budget_ms + $4::float8)')}
    and (call.planned_at < clock_timestamp() - ${milliseconds('(call.time_budget_ms + $4::float8 + $5::float8)')}
      or (${nobody("(call.job->>'replyTo')", '$6')} and not ${belongsToRun('$5', '$6')}))`,
);

/** A replanned call keeps its fence, so that a late outcome of the lost worker is refused. */
export const replanSafe = `/* reaper.replan-safe */
  update tool_calls set state = 'planned', worker = null
  where id in (
    select call.id from tool_calls call
    where call.kind = 'server' and call.state = 'dispatched' and call.safe and call.attempt < 3
      and ${nobody('call.worker', '$1')}
    order by call.id limit $2 for update of call skip locked)
  returning id, job`;

export const databaseClock = `/* reaper.clock */ select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`;

/**
 * Calls of dead gateways; `$5` is the expiry. A living gateway knows better: its call may still wait for a place in its
 * limits, or be sent with others under another id, and it handles a lost job itself. Excludes calls that the gateway
 * continuing their run will run; `$6` is how long a turn may take.
 */
export const plannedAfter = `/* reaper.planned-after */
  select id, job, planned_at::text as planned_at from tool_calls call
  where kind = 'server' and state = 'planned' and job is not null
    and planned_at < clock_timestamp() - ${milliseconds('$1')}
    and (planned_at, id) > ($3::timestamptz, $4)
    and ${nobody("(call.job->>'replyTo')", '$5')} and not ${belongsToRun('$6', '$5')}
  order by planned_at, id limit $2`;

export const forgetEvents = `/* reaper.forget-events */ with
  old as (
    select id from runs where events_kept and ended_at < clock_timestamp() - ${milliseconds('$1')}
    order by ended_at limit $2 for update skip locked),
  gone as (delete from run_events using old where run_id = old.id returning run_id, last_n),
  highest as (select run_id, max(last_n) as last_n from gone group by run_id)
  update runs set events_kept = false, highest_event = greatest(highest_event, highest.last_n)
  from old left join highest on highest.run_id = old.id
  where runs.id = old.id
  returning runs.id`;

const active = `('planned', 'parked', 'dispatched')`;

/** Checks `$2` ended runs after a mark; returns the next mark. A run is kept as long as its session, plus a time. */
export const forgetRuns = `/* reaper.forget-runs */ with
  seen as (
    select id, principal, session_id, ended_at from runs
    where ended_at < clock_timestamp() - ${milliseconds('$1')} and (ended_at, id) > ($3::timestamptz, $4)
    order by ended_at, id limit $2),
  gone as (
    delete from runs using seen where runs.id = seen.id
      and not exists (
        select from sessions session where session.principal = seen.principal and session.id = seen.session_id)
      and not exists (
        select from tool_calls call where call.run_id = seen.id and call.kind = 'server' and call.state in ${active})
    returning runs.id),
  ${deletePartsOfRuns('gone')}
  select ended_at::text as ended_at, id from seen order by seen.ended_at desc, id desc limit 1`;

/** Does the same as `forgetRuns` for calls outside of runs. */
export const forgetCalls = `/* reaper.forget-calls */ with
  seen as (
    select id, principal, session_id, ended_at from tool_calls
    where run_id is null and ended_at < clock_timestamp() - ${milliseconds('$1')}
      and (ended_at, id) > ($3::timestamptz, $4)
    order by ended_at, id limit $2),
  gone as (
    delete from tool_calls call using seen where call.id = seen.id and not exists (
      select from sessions session where session.principal = seen.principal and session.id = seen.session_id))
  select ended_at::text as ended_at, id from seen order by seen.ended_at desc, id desc limit 1`;

/** Deletes days of usage that are older than `$1` days, hours of traffic that nobody is shown any more, and ids of batches that nobody writes again. */
export const forgetUsage = `/* reaper.forget-usage */ with
  days as (
    delete from usage_days where ctid = any(array(
      select ctid from usage_days where day < (now() at time zone 'UTC')::date - $1::int limit $2 for update skip locked))
    returning 1),
  hours as (
    delete from traffic_hours where ctid = any(array(
      select ctid from traffic_hours where hour < now() - interval '2 days' limit $2 for update skip locked))
    returning 1),
  batches as (
    delete from usage_batches where id = any(array(
      select id from usage_batches where id in (select id from usage_batches order by id limit $2)
        and written_at < clock_timestamp() - interval '1 hour' for update skip locked))
    returning 1)
  select * from days union all select * from hours union all select * from batches`;
