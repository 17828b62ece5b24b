// Waits in the database: what a call waits for that somebody outside of its gateway or worker gives. An approval is written with its
// call (libs/runs/write-parts.ts), every other wait by the call's worker. One conditional statement ends a wait, so the first end
// counts; the journal runs a parked call only if its waits permit it.
import { auditArguments } from '#libs/audit/call-audit.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Database } from '#libs/postgres/open-database.js';
import { storedJson, storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import { outcomeMembers } from '#libs/runs/call-rows.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { Question } from './question.js';
import type { Sampled, SamplingRequest } from './sampling-request.js';
import type { NewSignIn, SignIns } from './sign-in.js';
import type { Wait, WaitDecision, WaitState } from './wait.js';
import { isForPeople, kindsForPeople, parkedKinds, parkedOutcome, waitKinds } from './wait-kinds.js';
import * as statements from './wait-statements.js';

/** Who decides: a person, or a gateway for a model. */
export interface Approver {
  principal: string;
  requestId: string;
  keyId?: string | undefined;
  ip?: string | undefined;
}

export interface WaitQuery {
  /** Selects waits of this principal. */
  principal?: string | undefined;
  states?: readonly WaitState[] | undefined;
  /** The name that was called. */
  tool?: string | undefined;
  oldestFirst?: boolean | undefined;
  after?: string | undefined;
  limit: number;
}

/** A call outside of runs that its caller repeats with the same arguments. */
export interface RepeatedCall {
  principal: string;
  name: string;
  argumentsHash: string;
  sessionId?: string | undefined;
}

/** A wait of a call that runs. */
export type NewWait = {
  /** Same form as the id of an approval. */
  id: string;
  callId: string;
  /** The fence of the claim under which the call runs. */
  fence: string;
  arguments: JsonObject;
  expiresMs: number;
  notify: boolean;
} & (({ kind: 'question' } & Question) | { kind: 'sampling'; request: SamplingRequest });

export interface SamplingOutcome {
  answer: Sampled | { refused: string };
  errorCode?: string;
  /** `provider/model`, as routed. */
  model?: string;
  durationMs: number;
}

/** As much of a wait as its end needs. */
export type Ending = Pick<Wait, 'id' | 'kind' | 'name' | 'rule' | 'reason' | 'decisionReason'>;

interface Settling {
  state: Exclude<WaitState, 'waiting'>;
  by?: string;
  reason?: string | undefined;
  answer?: JsonObject | undefined;
  /** Members of the audit row of the decision; of these, `arguments` is also the audit of a parked call's edited arguments. */
  audit?: JsonObject;
}

export class WaitStore {
  private readonly audit: boolean;
  private readonly signIns: SignIns | undefined;

  constructor(
    private readonly database: Pick<Database, 'query'>,
    /** `audit: false` writes no audit rows (`audit.enabled`). `signIns`: absent where nobody is told where to sign in. */
    { audit = true, signIns }: { audit?: boolean; signIns?: SignIns } = {},
  ) {
    this.audit = audit;
    this.signIns = signIns;
  }

  async get(id: string): Promise<Wait | undefined> {
    return (await this.byIds([id]))[0];
  }

  byIds(ids: readonly string[]): Promise<Wait[]> {
    return this.select('get', 'id = any($1)', [ids.map(storedText)]);
  }

  /** Waits for people, newest first unless the query says otherwise. */
  list({ principal, states, tool, oldestFirst = false, after, limit }: WaitQuery): Promise<Wait[]> {
    const [beyond, order] = oldestFirst ? ['>', 'asc'] : ['<', 'desc'];
    // A statement of its own, so that the index of what waits is used.
    const isWaiting = states?.length === 1 && states[0] === 'waiting';
    const [name, inState] = isWaiting ? ['waiting', `state = 'waiting'`] : ['list', 'true'];
    return this.select(
      `${name}-${order}`,
      `kind in ${kindsForPeople} and ${inState} and ($1::text is null or principal = $1)
        and ($2::text is null or name = $2) and ($5::text[] is null or state = any($5))
        and ($3::text is null or (created_at, id) ${beyond} (select created_at, id from approvals where id = $3))
      order by created_at ${order}, id ${order} limit $4`,
      [storedTextOrNull(principal), storedTextOrNull(tool), storedTextOrNull(after), limit, states ?? null],
    );
  }

  /** What these calls wait for, oldest first. */
  async open(callIds: readonly string[]): Promise<Wait[]> {
    if (callIds.length === 0) return [];
    return this.select(
      'open',
      `call_id = any($1) and kind <> 'approval' and state = 'waiting' and expires_at > clock_timestamp()
        and ${statements.isHeld} order by created_at, id`,
      [callIds.map(storedText)],
    );
  }

  /** The waiting sign-ins of a principal at a server, `limit` at once, by their ids. */
  signInsOf(principal: string, server: string, after: string, limit: number): Promise<Wait[]> {
    const where = `principal = $1 and server = $2 and id > $3 and kind = 'sign_in' and state = 'waiting' order by id limit $4`;
    return this.select('sign-ins', where, [storedText(principal), storedText(server), after, limit]);
  }

  /** Who has signed in where, while waits of theirs for that were not told. */
  signedIn(limit: number): Promise<{ principal: string; server: string }[]> {
    return this.database.query(statements.signedIn, [limit]);
  }

  /** The newest wait of a parked call outside of runs with these arguments that is waiting, or approved and not used yet. */
  async ofRepeatedCall(call: RepeatedCall): Promise<Wait | undefined> {
    const held = `kind in ${parkedKinds} and (state = 'approved' or (state = 'waiting' and expires_at > clock_timestamp()))
      and ${statements.isHeld} order by created_at desc limit 1`;
    return (await this.select('repeated', `${repeated} and ${held}`, repeatedValues(call)))[0];
  }

  /** The first of the sign-ins that calls outside of runs with these arguments wait for. */
  async firstSignIn(call: RepeatedCall): Promise<Wait | undefined> {
    const waiting = `kind = 'sign_in' and state = 'waiting' and expires_at > clock_timestamp() and ${statements.isHeld}`;
    const first = `${repeated} and ${waiting} order by created_at, id limit 1`;
    return (await this.select('first-sign-in', first, repeatedValues(call)))[0];
  }

  /** The wait for people with this id in any state, provided that it belongs to this call outside of runs. */
  async ofCall(id: string, call: RepeatedCall): Promise<Wait | undefined> {
    const named = `id = $5 and kind in ${kindsForPeople}`;
    return (await this.select('of-call', `${repeated} and ${named}`, [...repeatedValues(call), storedText(id)]))[0];
  }

  /** An approval for such a call that nothing has used, because its call found no place: it is now that of the call `callId`. */
  async takeUnused(callId: string, call: RepeatedCall & { definitionHash: string; inRun: boolean }) {
    const [principal, name, hash, sessionId] = repeatedValues(call);
    const values = [storedText(callId), principal, name, hash, storedText(call.definitionHash), sessionId, call.inRun];
    return (await this.database.query<Wait>(statements.takeUnused, values))[0];
  }

  /** Writes the wait of a running call, once for each id. False if the call does not run under that claim any more. */
  async ask(wait: NewWait): Promise<boolean> {
    const { id, kind, callId, fence, arguments: args, expiresMs, notify } = wait;
    const [message, schema] = kind === 'question' ? [storedText(wait.message), wait.schema] : [null, wait.request];
    const hash = canonicalHash(args);
    const values = [id, storedText(callId), fence, hash, message, storedJson(schema), expiresMs, notify, kind];
    return (await this.database.query(statements.ask, values)).length > 0;
  }

  /**
   * Parks a call that its worker could not begin, until its caller has signed in. False if the call is not the worker's any more, has
   * waited for sign-ins too often, or the principal has too many parked calls.
   */
  async park(signIn: NewSignIn): Promise<boolean> {
    const { id, callId, fence, worker, server, scopes, arguments: args, expiresMs, maxWaiting } = signIn;
    const call = [id, storedText(callId), fence ?? null, worker, storedText(server)];
    const values = [...call, canonicalHash(args), storedJson({ scopes: [...scopes] }), expiresMs, maxWaiting];
    return (await this.database.query(statements.park, values)).length > 0;
  }

  /** Takes a wait that a gateway answers. False if another gateway has it, or nobody waits any more. */
  async take(id: string, gateway: string, leaseMs: number): Promise<boolean> {
    return (await this.database.query(statements.take, [id, gateway, leaseMs])).length > 0;
  }

  /** A decision or answer of people. Undefined if there was one before, the wait has expired, or its call has ended. */
  decide(wait: Ending, { decision, reason, arguments: given }: WaitDecision, by: Approver): Promise<Wait | undefined> {
    const accepted = decision === 'approve';
    const answer = accepted ? given : undefined;
    const audit = {
      request_id: storedText(by.requestId),
      key_id: storedTextOrNull(by.keyId),
      ip: by.ip ?? null,
      result: storedTextOrNull(reason),
      approval_id: wait.id,
      approver: storedText(by.principal),
      ...(answer && audited(answer, waitKinds[wait.kind].call === 'dispatched')),
    };
    return this.settle(wait, { state: accepted ? 'approved' : 'denied', by: by.principal, reason, answer, audit });
  }

  /** The answer of a model. False if the gateway was too late. */
  async sampled(wait: Wait, gateway: string, outcome: SamplingOutcome): Promise<boolean> {
    const { answer, errorCode, model, durationMs } = outcome;
    const refusal = 'refused' in answer ? answer.refused : undefined;
    const told = auditArguments({ ...answer });
    const audit = {
      request_id: wait.requestId,
      key_id: wait.keyId,
      ...audited(wait.schema ?? {}, true),
      result: told.arguments,
      result_digest: told.argumentsDigest,
      model: storedTextOrNull(model),
      error_code: errorCode ?? null,
      duration_ms: durationMs,
    };
    const end = refusal === undefined ? { answer: { ...answer } } : { reason: refusal };
    const state = refusal === undefined ? 'approved' : 'denied';
    return (await this.settle(wait, { state, by: gateway, audit, ...end })) !== undefined;
  }

  /** Ends a wait that nobody will decide about. False if it had ended before; a parked call has ended afterwards in any case. */
  async close(wait: Ending, state: Exclude<WaitState, 'waiting' | 'approved'>): Promise<boolean> {
    const audit = { approval_id: wait.id, result: state === 'expired' ? unanswered : leftBehind };
    const isQuestion = isForPeople(wait) && waitKinds[wait.kind].call === 'dispatched';
    return (await this.settle(wait, { state, ...(isQuestion ? { audit } : {}) })) !== undefined;
  }

  private async settle(wait: Ending, { state, by, reason, answer, audit }: Settling): Promise<Wait | undefined> {
    const decisionReason = reason ?? wait.decisionReason;
    const isParked = waitKinds[wait.kind].call === 'parked';
    const outcome = parkedOutcome({ ...wait, state, decisionReason, answer: null });
    const edited = isParked ? answer : undefined;
    // The sign-in is no approval of the call.
    const approver = by === undefined || wait.kind === 'sign_in' ? {} : { approver: storedText(by) };
    const [settled] = await this.database.query<Wait>(statements.settle, [
      storedText(wait.id),
      state,
      storedTextOrNull(by),
      storedTextOrNull(reason),
      edited === undefined ? null : storedJson(edited),
      edited === undefined ? null : canonicalHash(edited),
      isParked || answer === undefined ? null : storedJson(answer),
      JSON.stringify(outcome === undefined ? [] : [{ id: wait.id, state: outcome.state, ...outcomeMembers(outcome) }]),
      JSON.stringify({ ...approver, ...(edited && auditArguments(edited)) }),
      uuidv7(),
      JSON.stringify(audit === undefined ? [] : [audit]),
      this.audit,
    ]);
    return settled && this.addressed(settled);
  }

  lapsed(limit: number): Promise<Wait[]> {
    return this.database.query<Wait>(statements.lapsed, [limit]);
  }

  async forget(): Promise<void> {
    await this.database.query(statements.forget, []);
  }

  /** How many calls wait for people, and how long the oldest has waited: 0 if none waits. */
  async waiting(): Promise<{ count: number; oldestAgeMs: number }> {
    return (await this.database.query<{ count: number; oldestAgeMs: number }>(statements.countWaiting, []))[0]!;
  }

  async waitingOf(principal: string, ids: readonly string[]): Promise<{ waiting: number; written: string[] }> {
    const values = [storedText(principal), ids];
    return (await this.database.query<{ waiting: number; written: string[] }>(statements.waitingOf, values))[0]!;
  }

  /** Takes waits whose notification is due. Each is due again after `retryMs` until the webhook has accepted it. */
  takeDue(limit: number, retryMs: readonly number[]): Promise<(Wait & { notices: number })[]> {
    return this.database.query<Wait & { notices: number }>(statements.takeDue, [limit, retryMs]);
  }

  async notified(id: string): Promise<void> {
    await this.database.query(`/* waits.notified */ update approvals set notify_at = null where id = $1`, [id]);
  }

  private async select(name: string, where: string, values: readonly unknown[]): Promise<Wait[]> {
    const statement = `/* waits.${name} */ select ${statements.waitColumns} from approvals where ${where}`;
    return (await this.database.query<Wait>(statement, values)).map((wait) => this.addressed(wait));
  }

  private addressed(wait: Wait): Wait {
    if (wait.kind === 'sign_in' && this.signIns !== undefined) wait.authorizationUrl = this.signIns.addressOf(wait);
    return wait;
  }
}

/** The row of a parked call says how its wait ended; a call that asks goes on, so its question has a row of its own. */
const unanswered = 'Nobody answered in time';
const leftBehind = 'The call ended before anybody answered';

const repeated = `principal = $1 and run_id is null and name = $2 and asked_hash = $3
  and ($4::text is null or session_id = $4)`;

function repeatedValues({ principal, name, argumentsHash, sessionId }: RepeatedCall) {
  return [storedText(principal), storedText(name), argumentsHash, storedTextOrNull(sessionId)];
}

function audited(args: JsonObject, withDigest: boolean): JsonObject {
  const { arguments: text, argumentsDigest } = auditArguments(args);
  return { arguments: text, ...(withDigest ? { arguments_digest: argumentsDigest } : {}) };
}
