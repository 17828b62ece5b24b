// What the hash of a row of the audit is over, as an expression of SQL: the place in its chain and every column. The trigger
// that writes it has the same (prisma/migrations/20261128000000_audit_chain). Not a function of the database, which whoever
// changes rows could change too.
export const rowHash = `sha256(convert_to(row(chain, position, previous_hash, id, extract(epoch from at), kind, call_id,
  request_id, trace_id, principal, key_id, ip, session_id, run_id, round, model, server, tool, name, definition_hash,
  arguments, result, arguments_digest, result_digest, success, state, error_code, duration_ms, queue_wait_ms, attempt, cached,
  isolation, policy_rule, approval_id, approver, worker)::text, 'UTF8'))`;
