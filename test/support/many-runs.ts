// Statements that fill a store with many runs, for what is measured on it.
/** `$1`: when the first began, ms; `$2`: how many. Each begins a second after the one before. */
export const fillRuns = `
  insert into runs (id, principal, session_id, request_id, request_hash, dialect, detached, request, state, created_at, ended_at,
    usage, model, asked, error)
  select 'run_' || lpad(to_hex($1::bigint + n * 1000), 12, '0') || rpad('7', 20, '0'), 'user-' || n % 50,
    'session-' || n % 2000, 'req', '', 'events', false, '{"messages":[]}', case when n % 40 = 0 then 'failed' else 'done' end,
    to_timestamp($1::bigint / 1000 + n), to_timestamp($1::bigint / 1000 + n + 2),
    '{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}', 'model-' || n % 20, 'do the task ' || n,
    case when n % 40 = 0 then json_build_object('code', 'code_' || n % 7, 'message', 'm', 'type', 't') end
  from generate_series(1, $2::int) n`;

/** Two rounds of each run. */
export const fillRounds = `
  insert into run_rounds (run_id, round, provider, model, message, usage, finish_reason, last_event, started_at, created_at)
  select id, round, 'provider', 'answered-' || right(model, 1), '{}', '{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}',
    'stop', 1, created_at, created_at + interval '1 second'
  from runs, generate_series(1, 2) round`;

/** One call of each run. */
export const fillCalls = `
  insert into tool_calls (id, run_id, round, "position", kind, principal, session_id, name, server, tool, definition_hash,
    arguments, safe, audit, state, planned_at, dispatched_at, ended_at)
  select 'call_' || id, id, 1, 0, 'server', principal, session_id, 'tool', 'server', 'tool-' || right(asked, 1), '', '{}', true,
    '{}', 'completed', created_at, created_at, created_at + interval '1 second'
  from runs`;
