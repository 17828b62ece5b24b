// The statements that write runs, rounds, calls, events and sessions, as parts that can be combined in one statement.
// Each part takes its rows as one JSON array, and writes terminal states and audit rows together or not at all.
// Rows are found by `id = any(array(…))`: with a plain join PostgreSQL scans the whole of a young table.
import { mayLeave } from '#libs/waits/wait-kinds.js';
import { endedCallColumns, plannedCallColumns } from './call-rows.js';

export interface WritePart {
  /** Columns of the part's rows, for jsonb_to_recordset. */
  columns: string;
  /** Further relations `<name>_…`, made from the relation `<name>_rows` of numbered rows. */
  steps: string;
  /** Replaces `steps` in a statement that also has rows of `begin`. */
  stepsAfterBegin?: string;
  /** Selects the `ordinality` of each written row, and the result as JSON. */
  written: string;
}

/** Inserts into the journal from a relation of planned calls. */
const insertCalls = (from: string) => `insert into tool_calls (id, run_id, round, "position", kind, principal,
    session_id, name, server, tool, definition_hash, arguments, safe, job, time_budget_ms, audit, state, outcome, ended_at)
  select id, run_id, round, "position", kind, principal, session_id, name, server, tool, definition_hash,
    arguments::json, safe, job::json, time_budget_ms, audit, state, outcome::json,
    case when outcome is null then null else clock_timestamp() end
  from ${from}`;

/** Inserts the approvals of the planned calls that need one. */
const insertApprovals = (
  from: string,
) => `insert into approvals (id, call_id, request_id, principal, key_id, session_id,
    run_id, server, tool, name, definition_hash, arguments, arguments_hash, asked_hash, rule, reason,
    created_at, expires_at, notify_at)
  select approval->>'id', id, audit->>'requestId', principal, audit->>'keyId', session_id, run_id, server, tool, name,
    definition_hash, arguments::json, approval->>'argumentsHash', approval->>'argumentsHash', audit->>'policyRule', approval->>'reason',
    clock_timestamp(), clock_timestamp() + (approval->>'expiresMs')::float8 * interval '1 millisecond',
    case when (approval->>'notify')::boolean then clock_timestamp() end
  from ${from} where approval is not null`;

/** For calls that have a row in the audit. */
export const hasAudit = `audit->>'kind' is distinct from 'none'`;

/** Inserts into the audit from a relation of ended calls: a call's row with the members of its outcome. */
export const insertAudit = (
  from: string,
  kind = `'tool_call'`,
) => `insert into audit_events (id, at, kind, call_id, request_id, trace_id, principal,
    key_id, ip, session_id, run_id, round, model, server, tool, name, definition_hash, arguments, arguments_digest, result,
    result_digest, success, state, error_code, duration_ms, queue_wait_ms, attempt, cached, isolation, policy_rule, approval_id,
    approver, worker)
  select audit_id, clock_timestamp(), coalesce(audit->>'kind', ${kind}), id, coalesce(audit->>'requestId', ''), audit->>'traceId', principal,
    audit->>'keyId', audit->>'ip', session_id, run_id, round, audit->>'model', server, tool, name, definition_hash,
    audit->>'arguments', audit->>'argumentsDigest', result, result_digest, success, state, error_code, duration_ms,
    queue_wait_ms, attempt, cached, isolation, audit->>'policyRule',
    audit->>'approvalId', audit->>'approver', worker
  from ${from}`;

/** Calls that no worker will end: calls journaled with their outcome, and calls that the caller runs; not those of a replay. */
const auditedWhenPlanned = (from: string) => `select audit_id, id, audit, principal, session_id, run_id, round, server,
    tool, name, definition_hash, result, result_digest, success, state, error_code, duration_ms, queue_wait_ms,
    0 as attempt, cached, null as isolation, null as worker,
    case kind when 'client' then 'client_call' else 'tool_call' end as audit_kind
  from ${from} where audit_id is not null and ${hasAudit}`;

/** The model's answer in a round. */
const roundColumns = `round int, provider text, model text, message text, round_usage text, finish_reason text,
    last_event int, started_at timestamptz`;

const insertRound = (from: string, runId: string) => `insert into run_rounds (run_id, round, provider, model, message,
      usage, finish_reason, last_event, started_at)
    select ${runId}, round, provider, model, message::json, round_usage::json, finish_reason, last_event, started_at
    from ${from}`;

/** Into the events from a relation whose rows may carry some. Existing events are left unchanged. */
const insertBursts = (from: string, runId: string) => `insert into run_events (run_id, first_n, last_n, events)
  select ${runId}, first_n, last_n, events::json from ${from} where events is not null
  on conflict do nothing`;

/** Only the first of two runs with one key is written. */
const begin: WritePart = {
  columns: `id text, principal text, key_id text, request_id text, idempotency_key text, request_hash text,
    session_id text, dialect text, detached boolean, request text, owner text, usage text, model text, asked text,
    replay_of text, task_ttl_ms float8`,
  steps: `begin_new as (
    insert into runs (id, principal, key_id, request_id, idempotency_key, request_hash, session_id, dialect, detached,
      request, owner, usage, model, asked, replay_of, task_ttl_ms, state)
    select id, principal, key_id, request_id, idempotency_key, request_hash, session_id, dialect, detached,
      request::json, owner, usage::json, model, asked, replay_of, task_ttl_ms, 'running' from begin_rows order by ordinality
    on conflict do nothing
    returning id, created_at)`,
  written: `ordinality, to_json(created_at) from begin_rows join begin_new using (id)`,
};

/** The runs of the rounds, including those begun in the same statement, whose rows are not visible yet. */
const runsOfRounds = `round_runs as materialized (
    select id, owner, state from runs where id = any(array(select run_id from round_rows)) for share)`;
const runsOfRoundsAfterBegin = `round_old as materialized (
    select id, owner, state from runs where id = any(array(select run_id from round_rows)) for share),
  round_runs as (
    select id, owner, state from round_old
    union all select id, owner, 'running' from begin_rows join begin_new using (id))`;

const roundSteps = (audit: boolean) => `round_running as (
    select round_rows.* from round_rows join round_runs on round_runs.id = round_rows.run_id
    where round_runs.state = 'running' and (round_rows.owner is null or round_runs.owner = round_rows.owner)),
  round_new as (${insertRound('round_running', 'run_id')}),
  round_told as (${insertBursts('round_running', 'run_id')}),
  round_calls as (
    select call.* from round_running, jsonb_to_recordset(round_running.calls) as call (${plannedCallColumns})),
  round_planned as (${insertCalls('round_calls')}),
  round_parked as (${insertApprovals('round_calls')})
  ${audit ? `, round_audited as (${insertAudit(`(${auditedWhenPlanned('round_calls')}) as planned`, 'audit_kind')})` : ''}`;

/** Rounds of runs that still run and are owned by the given gateway; each row carries its calls. */
const round = (audit: boolean): WritePart => ({
  columns: `run_id text, owner text, ${roundColumns}, calls jsonb, first_n int, last_n int, events text`,
  steps: `${runsOfRounds},
  ${roundSteps(audit)}`,
  stepsAfterBegin: `${runsOfRoundsAfterBegin},
  ${roundSteps(audit)}`,
  written: `ordinality, null::json from round_running`,
});

/**
 * A gateway that was suspended and given up may still finish its answer: it counts unless another gateway has continued
 * the run.
 */
const end: WritePart = {
  columns: `id text, owner text, state text, usage text, answer text, error text, stopped_by text, ${roundColumns},
    first_n int, last_n int, events text`,
  steps: `end_done as (
    update runs set state = end_rows.state, usage = end_rows.usage::json, answer = end_rows.answer::json,
      error = end_rows.error::json, stopped_by = end_rows.stopped_by,
      ended_at = clock_timestamp()
    from end_rows
    where runs.id = any(array(select id from end_rows)) and runs.id = end_rows.id and runs.owner = end_rows.owner
      and (runs.state = 'running' or (runs.state = 'interrupted' and end_rows.state = 'done'))
    returning end_rows.*),
  end_round as (${insertRound('end_done', 'id')} where round is not null),
  end_told as (${insertBursts('end_done', 'id')})`,
  written: `ordinality, null::json from end_done`,
};

/** Nothing is stored for a run that has been deleted meanwhile. */
const events: WritePart = {
  columns: `run_id text, first_n int, last_n int, events text`,
  steps: `events_known as materialized (
    select events_rows.* from events_rows join runs on runs.id = events_rows.run_id
    where runs.id = any(array(select run_id from events_rows))),
  events_told as (${insertBursts('events_known', 'run_id')})`,
  written: `ordinality, null::json from events_known`,
};

const plan = (audit: boolean): WritePart => ({
  columns: plannedCallColumns,
  steps: `plan_new as (${insertCalls('plan_rows')}),
  plan_parked as (${insertApprovals('plan_rows')})
  ${audit ? `, plan_audited as (${insertAudit(`(${auditedWhenPlanned('plan_rows')}) as planned`, 'audit_kind')})` : ''}`,
  written: `ordinality, null::json from plan_rows`,
});

/** A case expression instead of `=`: that would use the index of all planned calls. */
const claim: WritePart = {
  columns: `id text, worker text, with_arguments boolean`,
  steps: `claim_done as (
    update tool_calls as call set state = 'dispatched', fence = nextval('tool_call_fence'), attempt = call.attempt + 1,
      worker = claim_rows.worker, dispatched_at = clock_timestamp()
    from claim_rows
    where call.id = any(array(select id from claim_rows)) and call.id = claim_rows.id and call.kind = 'server'
      and case call.state when 'planned' then true end
    returning claim_rows.ordinality, call.fence, call.attempt,
      case when claim_rows.with_arguments then call.arguments end as arguments)`,
  written: `ordinality, case when arguments is null then json_build_object('fence', fence::text, 'attempt', attempt)
    else json_build_object('fence', fence::text, 'attempt', attempt, 'arguments', arguments) end from claim_done`,
};

/** Only a refusal ends a parked call that may not run; no worker has a parked call. */
const mayEndParked = `call.state = 'parked' and outcome_rows.worker is null
          and (outcome_rows.state in ('denied', 'cancelled') or ${mayLeave('call.id')})`;

/**
 * With a fence the claim must still hold. Without one the call must be unclaimed, or be safe and claimed by the
 * same worker, which did not receive the answer to its claim.
 */
const outcome = (audit: boolean): WritePart => ({
  columns: endedCallColumns,
  steps: `outcome_done as (
    update tool_calls as call set state = outcome_rows.state, outcome = outcome_rows.outcome::json,
      ended_at = clock_timestamp(), worker = coalesce(outcome_rows.worker, call.worker),
      dispatched_at = case when outcome_rows.worker is null or call.state = 'dispatched' then call.dispatched_at
        else clock_timestamp() - outcome_rows.duration_ms * interval '1 millisecond' end,
      attempt = call.attempt + case when call.state <> 'dispatched' and outcome_rows.worker is not null then 1 else 0 end
    from outcome_rows
    where call.id = any(array(select id from outcome_rows)) and call.id = outcome_rows.id and call.kind = 'server' and (
      case when outcome_rows.fence is not null then call.state = 'dispatched' and call.fence = outcome_rows.fence
        else call.state = 'planned' or (${mayEndParked})
          or (call.state = 'dispatched' and call.safe and call.worker = outcome_rows.worker) end)
    returning outcome_rows.ordinality, outcome_rows.audit_id, call.id, call.audit || outcome_rows.context as audit,
      call.principal, call.session_id, call.run_id, call.round, call.server, call.tool, call.name, call.definition_hash,
      outcome_rows.result, outcome_rows.result_digest, outcome_rows.success, call.state, outcome_rows.error_code,
      outcome_rows.duration_ms, outcome_rows.queue_wait_ms, call.attempt, outcome_rows.cached, outcome_rows.isolation,
      call.worker)
  ${audit ? `, outcome_audited as (${insertAudit(`outcome_done where ${hasAudit}`)})` : ''}`,
  written: `ordinality, null::json from outcome_done`,
});

/** Creates or renews sessions; a statement must not name a session twice. */
const session: WritePart = {
  columns: `principal text, id text, directory text, metadata text, idle_ttl_ms float8`,
  steps: `session_done as (
    insert into sessions (principal, id, directory, metadata, created_at, used_at, expires_at)
    select principal, id, directory, coalesce(metadata, '{}')::json, clock_timestamp(), clock_timestamp(),
      clock_timestamp() + idle_ttl_ms * interval '1 millisecond'
    from session_rows order by principal, id
    on conflict (principal, id) do update set used_at = excluded.used_at, expires_at = excluded.expires_at,
      metadata = case when excluded.metadata::text = '{}' then sessions.metadata else excluded.metadata end
    returning *)`,
  written: `ordinality, to_json(session_done) from session_rows join session_done using (principal, id)`,
};

/**
 * A batch that was written before counts as written. Sums are in the order of their keys, so that two gateways of one shard
 * never wait for each other crosswise.
 */
const usage: WritePart = {
  columns: `id uuid, sums jsonb`,
  steps: `usage_new as (
    insert into usage_batches (id) select id from usage_rows order by id on conflict do nothing returning id),
  usage_done as (
    insert into usage_days as used (day, key_id, principal, model, tool, shard, requests, calls, failures, prompt_tokens,
      completion_tokens, cost_nano_usd, unpriced_tokens)
    select (now() at time zone 'UTC')::date, key_id, principal, model, tool, shard, sum(requests), sum(calls),
      sum(failures), sum(prompt_tokens), sum(completion_tokens), sum(cost_nano_usd),
      sum(coalesce(unpriced_tokens, 0))
    from usage_rows join usage_new using (id), jsonb_to_recordset(sums) as each (key_id text, principal text, model text,
      tool text, shard smallint, requests bigint, calls bigint, failures bigint, prompt_tokens bigint, completion_tokens bigint,
      cost_nano_usd bigint, unpriced_tokens bigint)
    group by key_id, principal, model, tool, shard order by key_id, principal, model, tool, shard
    on conflict (key_id, principal, day, model, tool, shard) do update set requests = used.requests + excluded.requests,
      calls = used.calls + excluded.calls, failures = used.failures + excluded.failures, prompt_tokens = used.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = used.completion_tokens + excluded.completion_tokens,
      cost_nano_usd = used.cost_nano_usd + excluded.cost_nano_usd,
      unpriced_tokens = used.unpriced_tokens + excluded.unpriced_tokens)`,
  written: `ordinality, null::json from usage_rows`,
};

/** All parts by name, in the order in which they appear in a statement. */
export const writeParts = (audit: boolean) => ({
  begin,
  round: round(audit),
  end,
  events,
  plan: plan(audit),
  claim,
  outcome: outcome(audit),
  session,
  usage,
});

export type WriteName = keyof ReturnType<typeof writeParts>;
