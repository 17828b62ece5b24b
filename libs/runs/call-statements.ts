// The statements that write calls. Each begins with a name (it is prepared under it), takes all its rows as one JSON
// array, and writes terminal states and audit rows together or not at all. Rows are found by `id = any(array(…))`: a join
// alone would have PostgreSQL read the whole of a table that is young.
import { endedCallColumns, plannedCallColumns } from './call-rows.js';

/** Into the journal from a relation `input` of planned calls. */
export const insertCalls = `insert into tool_calls (id, run_id, round, "position", kind, principal, session_id, name,
    server, tool, definition_hash, arguments, safe, job, time_budget_ms, audit, state, outcome,
    ended_at)
  select id, run_id, round, "position", kind, principal, session_id, name, server, tool, definition_hash,
    arguments::json, safe, job::json, time_budget_ms, audit, state, outcome::json,
    case when outcome is null then null else clock_timestamp() end`;

/** Into the audit from a relation `ended`: a call's row with the members of its outcome. */
export const insertAudit = `insert into audit_events (id, at, kind, call_id, request_id, trace_id, principal, key_id, ip,
    session_id, run_id, round, model, server, tool, name, definition_hash, arguments, arguments_digest, result,
    result_digest, success, state, error_code, duration_ms, queue_wait_ms, attempt, cached, isolation, policy_rule, worker)
  select audit_id, clock_timestamp(), 'tool_call', id, coalesce(audit->>'requestId', ''), audit->>'traceId', principal,
    audit->>'keyId', audit->>'ip', session_id, run_id, round, audit->>'model', server, tool, name, definition_hash,
    audit->>'arguments', audit->>'argumentsDigest', result, result_digest, success, state, error_code, duration_ms,
    queue_wait_ms, attempt, cached, isolation, audit->>'policyRule', worker
  from ended where $2::boolean`;

const endedBeforeItBegan = `select audit_id, id, audit, principal, session_id, run_id, round, server, tool, name,
    definition_hash, result, result_digest, success, state, error_code, duration_ms, queue_wait_ms, 0 as attempt, cached,
    null as isolation, null as worker
  from input where outcome is not null and kind = 'server'`;

export const planCalls = `/* journal.plan */ with
  input as (select * from jsonb_to_recordset($1::jsonb) as call (${plannedCallColumns})),
  planned as (${insertCalls} from input),
  ended as (${endedBeforeItBegan}),
  audited as (${insertAudit})
  select 1`;

/** Into the events from a relation whose rows may bring some along. */
export const insertBursts = (relation: string, runId: string) =>
  `insert into run_events (run_id, first_n, last_n, events)
  select ${runId}, first_n, last_n, events::json from ${relation} where events is not null
  on conflict do nothing`;

/** Rounds of runs that still run and are driven by who says so; each row carries its calls. */
export const planRounds = `/* runs.plan-round */ with
  rounds as (
    select * from rows from (jsonb_to_recordset($1::jsonb) as (run_id text, owner text, round int, provider text,
      model text, message text, usage text, finish_reason text, last_event int, started_at timestamptz, calls jsonb,
      first_n int, last_n int, events text)
    ) with ordinality as round),
  found as materialized (
    select id, owner, state from runs where id = any(array(select run_id from rounds)) for share),
  running as (
    select rounds.* from rounds join found on found.id = rounds.run_id
    where found.state = 'running' and (rounds.owner is null or found.owner = rounds.owner)),
  written as (
    insert into run_rounds (run_id, round, provider, model, message, usage, finish_reason, last_event, started_at)
    select run_id, round, provider, model, message::json, usage::json, finish_reason, last_event, started_at from running),
  told as (${insertBursts('running', 'run_id')}),
  input as (select call.* from running, jsonb_to_recordset(running.calls) as call (${plannedCallColumns})),
  planned as (${insertCalls} from input),
  ended as (${endedBeforeItBegan}),
  audited as (${insertAudit})
  select ordinality from running`;

/** A case, and no alternatives: those would lead to the indexes of all planned and all dispatched calls. */
export const claimCalls = `/* journal.claim */ with
  input as (
    select * from rows from (jsonb_to_recordset($1::jsonb) as (id text, worker text, take_over bigint)
    ) with ordinality as claim)
  update tool_calls as call set state = 'dispatched', fence = nextval('tool_call_fence'), attempt = call.attempt + 1,
    worker = input.worker, dispatched_at = clock_timestamp()
  from input
  where call.id = any(array(select id from input)) and call.id = input.id and call.kind = 'server'
    and case call.state when 'planned' then input.take_over is null
      when 'dispatched' then call.safe and call.fence = input.take_over end
  returning input.ordinality, call.fence::text as fence, call.attempt`;

/** Without a fence the call must not have been claimed, with one the claim must still hold. */
export const endCalls = `/* journal.end */ with
  input as (
    select * from rows from (jsonb_to_recordset($1::jsonb) as (${endedCallColumns})) with ordinality as call_end),
  ended as (
    update tool_calls as call set state = input.state, outcome = input.outcome::json, ended_at = clock_timestamp(),
      worker = coalesce(input.worker, call.worker),
      attempt = call.attempt + case when input.fence is null and input.worker is not null then 1 else 0 end
    from input
    where call.id = any(array(select id from input)) and call.id = input.id and call.kind = 'server' and (
      (input.fence is null and call.state in ('planned', 'parked'))
      or (call.state = 'dispatched' and call.fence = input.fence))
    returning input.ordinality, input.audit_id, call.id, call.audit || input.context as audit, call.principal,
      call.session_id, call.run_id, call.round, call.server, call.tool, call.name, call.definition_hash, input.result,
      input.result_digest, input.success, call.state, input.error_code, input.duration_ms, input.queue_wait_ms,
      call.attempt, input.cached, input.isolation, call.worker),
  audited as (${insertAudit})
  select ordinality from ended`;
