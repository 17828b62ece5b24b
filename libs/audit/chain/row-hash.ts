// What the hash of a row of the audit is over, as an expression of SQL: the place in its chain and every column. The trigger
// that writes it has the same. Not a function of the database, which whoever changes rows could change too.

const place = 'chain, position, previous_hash, id';
const columns = `kind, call_id, request_id, trace_id, principal, key_id, ip, session_id, run_id, round, model, server, tool,
  name, definition_hash, arguments, result, arguments_digest, result_digest, success, state, error_code, duration_ms,
  queue_wait_ms, attempt, cached, isolation, policy_rule, approval_id, approver, worker`;

/** Rows of before (prisma/migrations/20261128000000_audit_chain): 32 bytes, of the row as text. */
const ofText = `sha256(convert_to(row(${place}, extract(epoch from at), ${columns})::text, 'UTF8'))`;
/** The version in front, and the digest of the row in its binary form (20261130000200_audit_binary_hash). */
const ofBinary = `'\\x02'::bytea || sha256(record_send(row(${place}, at, ${columns})))`;

export const rowHash = `case length(hash) when 33 then ${ofBinary} else ${ofText} end`;
