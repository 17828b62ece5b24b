// Questions of tool servers to people and to models, as rows of `approvals`. A question belongs to one claim of its call: once
// another worker has the call, or the call has ended, nobody can answer the question any more.
import { auditArguments } from '#libs/audit/call-audit.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Database } from '#libs/postgres/open-database.js';
import { storedJson, storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { Approval, ApprovalDecision } from './approval.js';
import { approvalColumns, type Approver } from './approval-store.js';
import type { Question } from './question.js';
import type { Sampled, SamplingRequest } from './sampling-request.js';

export type NewQuestion = NewRow & (({ kind: 'question' } & Question) | { kind: 'sampling'; request: SamplingRequest });

interface NewRow {
  /** Same form as the id of an approval. */
  id: string;
  callId: string;
  /** The fence of the claim under which the call runs. */
  fence: string;
  arguments: JsonObject;
  expiresMs: number;
  notify: boolean;
}

export interface SamplingOutcome {
  answer: Sampled | { refused: string };
  errorCode?: string;
  /** `provider/model`, as routed. */
  model?: string;
  durationMs: number;
}

const ask = `/* questions.ask */
  insert into approvals (id, kind, call_id, fence, request_id, principal, key_id, session_id, run_id, server, tool, name,
    definition_hash, arguments, arguments_hash, asked_hash, message, schema, created_at, expires_at, notify_at)
  select $1, $9, id, fence, coalesce(audit->>'requestId', ''), principal, audit->>'keyId', session_id, run_id, server,
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

/** Gives a request to one gateway, which must take it again before its lease is over. */
const take = `/* questions.take */ update approvals set decided_by = $2,
    expires_at = clock_timestamp() + $3::float8 * interval '1 millisecond'
  where id = $1 and kind = 'sampling' and state = 'waiting' and expires_at > clock_timestamp()
    and coalesce(decided_by, $2) = $2 and ${isAlive} returning id`;

const sampled = `/* questions.sampled */ with
  answered as (
    update approvals set state = $4, decided_at = clock_timestamp(), decision_reason = $5, answer = $6::json
    where id = $2 and kind = 'sampling' and state = 'waiting' and decided_by = $3
    returning *),
  audited as (
    insert into audit_events (id, at, kind, request_id, principal, key_id, call_id, session_id, run_id, server, tool, name,
      definition_hash, arguments, arguments_digest, result, result_digest, model, success, state, error_code, duration_ms)
    select $1::uuid, clock_timestamp(), 'sampling', request_id, principal, key_id, call_id, session_id, run_id, server, tool,
      name, definition_hash, $7::jsonb->>'arguments', $7::jsonb->>'argumentsDigest', $8::jsonb->>'arguments',
      $8::jsonb->>'argumentsDigest', $9, state = 'approved', state, $10, $11
    from answered where $12::boolean)
  select id from answered`;

const open = `/* questions.open */ select ${approvalColumns} from approvals
  where call_id = any($1) and kind = any($2) and state = 'waiting' and expires_at > clock_timestamp() and ${isAlive}
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

  /** Writes a question once for each id. False if the call does not run under that claim any more. */
  async ask(question: NewQuestion): Promise<boolean> {
    const { id, kind, callId, fence, arguments: args, expiresMs, notify } = question;
    const written = await this.database.query(ask, [
      id,
      storedText(callId),
      fence,
      canonicalHash(args),
      kind === 'question' ? storedText(question.message) : null,
      storedJson(kind === 'question' ? question.schema : question.request),
      expiresMs,
      notify,
      kind,
    ]);
    return written.length > 0;
  }

  /** Undefined if the question was answered before, has expired, or its call has ended. */
  async answer(id: string, { decision, reason, arguments: content = {} }: ApprovalDecision, by: Approver) {
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

  /** Takes a sampling request for a gateway that answers it. False if another gateway has it, or nobody waits any more. */
  async take(id: string, gateway: string, leaseMs: number): Promise<boolean> {
    return (await this.database.query(take, [id, gateway, leaseMs])).length > 0;
  }

  /** Writes the outcome of a sampling. False if the gateway was too late. */
  async sampled({ id, schema }: Approval, gateway: string, outcome: SamplingOutcome): Promise<boolean> {
    const { answer, errorCode, model, durationMs } = outcome;
    const refused = 'refused' in answer;
    const written = await this.database.query(sampled, [
      uuidv7(),
      id,
      gateway,
      refused ? 'denied' : 'approved',
      refused ? storedText(answer.refused) : null,
      refused ? null : storedJson(answer),
      JSON.stringify(auditArguments(schema ?? {})),
      JSON.stringify(auditArguments(answer)),
      storedTextOrNull(model),
      errorCode ?? null,
      durationMs,
      this.audit,
    ]);
    return written.length > 0;
  }

  /** The open questions of these calls, oldest first. */
  open(callIds: readonly string[], kinds: readonly Approval['kind'][] = ['question']): Promise<Approval[]> {
    if (callIds.length === 0) return Promise.resolve([]);
    return this.database.query<Approval>(open, [callIds.map(storedText), kinds]);
  }
}
