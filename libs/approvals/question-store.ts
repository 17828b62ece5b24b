// Questions of tool servers in the database, as rows beside the approvals. Each belongs to one claim of its call: once another
// worker has the call, or the call has ended, nobody can answer it any more.
import { auditArguments } from '#libs/audit/call-audit.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Database } from '#libs/postgres/open-database.js';
import { storedJson, storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { Approval, Decision } from './approval.js';
import { approvalColumns, type Approver } from './approval-store.js';
import type { Question } from './question.js';

export interface NewQuestion extends Question {
  /** As an approval's. */
  id: string;
  callId: string;
  /** Of the claim under which the call runs. */
  fence: string;
  arguments: JsonObject;
  expiresMs: number;
  /** A webhook is configured. */
  notify: boolean;
}

const ask = `/* questions.ask */
  insert into approvals (id, kind, call_id, fence, request_id, principal, key_id, session_id, run_id, server, tool, name,
    definition_hash, arguments, arguments_hash, asked_hash, message, schema, created_at, expires_at, notify_at)
  select $1, 'question', id, fence, coalesce(audit->>'requestId', ''), principal, audit->>'keyId', session_id, run_id, server,
    tool, name, definition_hash, arguments, $4, $4, $5, $6::json, clock_timestamp(),
    clock_timestamp() + $7::float8 * interval '1 millisecond', case when $8::boolean then clock_timestamp() end
  from tool_calls where id = $2 and state = 'dispatched' and fence = $3::bigint
  on conflict (id) do update set id = excluded.id returning id`;

const isAlive = `exists (select from tool_calls call
    where call.id = approvals.call_id and call.state = 'dispatched' and call.fence = approvals.fence)`;

const answer = `/* questions.answer */ with
  answered as (
    update approvals set state = $7, decided_at = clock_timestamp(), decided_by = $3, decision_reason = $8,
      answer = $9::json, notify_at = null
    where id = $6 and kind = 'question' and state = 'waiting' and expires_at > clock_timestamp() and ${isAlive}
    returning *),
  audited as (
    insert into audit_events (id, at, kind, request_id, principal, key_id, ip, call_id, session_id, run_id, server, tool,
      name, definition_hash, arguments, arguments_digest, success, state, approval_id, approver, result)
    select $1::uuid, clock_timestamp(), 'question', $2, principal, $4, $5, call_id, session_id, run_id, server, tool, name,
      definition_hash, $10::jsonb->>'arguments', $10::jsonb->>'argumentsDigest', state = 'approved', state, id, $3, $8
    from answered where $11::boolean)
  select ${approvalColumns} from answered`;

const open = `/* questions.open */ select ${approvalColumns} from approvals
  where call_id = any($1) and kind = 'question' and state = 'waiting' and expires_at > clock_timestamp() and ${isAlive}
  order by created_at, id`;

export class QuestionStore {
  private readonly audit: boolean;

  constructor(
    private readonly database: Pick<Database, 'query'>,
    /** `audit: false` writes no audit rows (`audit.enabled`). */
    { audit = true }: { audit?: boolean } = {},
  ) {
    this.audit = audit;
  }

  /** Once for each id. False: the call does not run under that claim any more. */
  async ask({ id, callId, fence, arguments: args, message, schema, expiresMs, notify }: NewQuestion): Promise<boolean> {
    const written = await this.database.query(ask, [
      id,
      storedText(callId),
      fence,
      canonicalHash(args),
      storedText(message),
      storedJson(schema),
      expiresMs,
      notify,
    ]);
    return written.length > 0;
  }

  /** Undefined: it was answered before, its time is up, or its call has ended. */
  async answer(id: string, { decision, reason, arguments: content = {} }: Decision, by: Approver) {
    const accepted = decision === 'approve';
    const [answered] = await this.database.query<Approval>(answer, [
      uuidv7(),
      storedText(by.requestId),
      storedText(by.principal),
      storedTextOrNull(by.keyId),
      by.ip ?? null,
      storedText(id),
      accepted ? 'approved' : 'denied',
      storedTextOrNull(reason),
      accepted ? storedJson(content) : null,
      JSON.stringify(accepted ? auditArguments(content) : {}),
      this.audit,
    ]);
    return answered;
  }

  /** Those of these calls that wait for an answer, oldest first. */
  open(callIds: readonly string[]): Promise<Approval[]> {
    if (callIds.length === 0) return Promise.resolve([]);
    return this.database.query<Approval>(open, [callIds.map(storedText)]);
  }
}
