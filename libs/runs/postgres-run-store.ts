// The run store on PostgreSQL. Only the gateway that owns a run writes it; writes of concurrent turns share
// statements.
import type { Database } from '#libs/postgres/open-database.js';
import { storedText } from '#libs/postgres/stored-text.js';
import { AppError } from '#libs/schemas/errors.js';
import { kindsForPeople } from '#libs/waits/wait-kinds.js';
import { toStoredCall } from './call-rows.js';
import { deletePartsOfRuns } from './delete-parts-of-runs.js';
import { makeSessions, type SessionMaker } from './sessions/make-sessions.js';
import { begunRun, newRunRow, plannedRoundRow, runEndRow, toStoredRound, toStoredRun } from './run-rows.js';
import type {
  AuditContext,
  DetachedRun,
  NewRun,
  PlannedRound,
  RunEnd,
  RunStore,
  StoredCall,
  StoredRound,
  StoredRun,
} from './run-store.js';
import { StoreWrites, type WriteResult } from './store-writes.js';

const removeRun = `/* runs.remove */ with
  gone as (
    delete from runs where id = $1 and principal = $2 and state <> 'running' and not exists (
      select from tool_calls call
      where call.run_id = runs.id and call.kind = 'server' and call.state in ('planned', 'parked', 'dispatched'))
    returning id),
  ${deletePartsOfRuns('gone')}
  select id from gone`;

/**
 * A call waits for a person while its approval or question waits, unless its round went back to the caller, who decides in the next
 * turn. Any other call that runs ends by itself. A round without a provider has the caller's own call, which does not count if it
 * never began.
 */
const selectInterruptedDetached = `/* runs.interrupted-detached */
  select id, principal, key_id as "keyId", idempotency_key is not null as keyed, error, adoptions,
    exists (
      select from tool_calls call where call.run_id = runs.id and call.kind = 'server' and case
        when exists (
          select from approvals where call_id = call.id and state = 'waiting' and approvals.kind in ${kindsForPeople})
        then call.state in ('parked', 'dispatched') and not exists (
          select from tool_calls asked
          where asked.run_id = call.run_id and asked.round = call.round and asked.kind = 'client')
        else call.state = 'dispatched' end) as waits
  from runs where state = 'interrupted' and detached
    and (idempotency_key is null or exists (
      select from run_rounds round where round.run_id = runs.id and (round.provider <> '' or exists (
        select from tool_calls call where call.run_id = round.run_id and call.round = round.round
          and not (call.state = 'cancelled' and call.attempt = 0 and call.fence is null)))))
  order by waits, ended_at desc limit $1`;

/** The gateway answers these calls, so they have no server. */
const selectFoundTools = `/* runs.found-tools */
  select coalesce(outcome #>> '{blocks,0,text}', '') as text from tool_calls
  where principal = $1 and session_id = $2 and name = 'find_tools' and server = '' and state = 'completed' and audit -> 'replayed' is null
    and ($3::timestamptz is null or planned_at < $3)
  order by planned_at desc limit 20`;

export interface RunStoreOptions {
  /** Life of an Idempotency-Key (`runs.idempotency_ttl_ms`). */
  idempotencyTtlMs?: number;
  /** Shared with the other stores of the process. */
  writes?: StoreWrites;
  /** Creates the sessions of planned calls in the same statements. */
  sessions?: SessionMaker;
  /** Writes the usage so far in the statement of the round or end. */
  usage?: { send(): void };
}

export class PostgresRunStore implements RunStore {
  private readonly idempotencyTtlMs: number;
  private readonly writes: StoreWrites;
  private readonly sessions: SessionMaker | undefined;
  private readonly usage: RunStoreOptions['usage'];

  constructor(
    private readonly database: Database,
    { idempotencyTtlMs = 86_400_000, writes = new StoreWrites(database), sessions, usage }: RunStoreOptions = {},
  ) {
    this.sessions = sessions;
    this.usage = usage;
    this.idempotencyTtlMs = idempotencyTtlMs;
    this.writes = writes;
  }

  begin(run: NewRun): Promise<BegunRun> {
    return this.writes
      .submit('begin', newRunRow(run))
      .then((begun) => (begun === undefined ? this.beginWhereTaken(run) : created(run, begun)));
  }

  /** A key that is taken may expire, and its run may be deleted, between two reads. */
  private async beginWhereTaken(run: NewRun): Promise<BegunRun> {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const stored = await this.holderOf(run);
      if (stored !== undefined) return { created: false, run: stored };
      const begun = await this.writes.submit('begin', newRunRow(run));
      if (begun !== undefined) return created(run, begun);
    }
    throw new AppError('store_unavailable', 'The store is busy', { retryAfterSeconds: 1 });
  }

  private async holderOf({ principal, idempotencyKey, id }: NewRun): Promise<StoredRun | undefined> {
    if (idempotencyKey === undefined) throw new AppError('internal_error', 'Internal error', { cause: `run id ${id}` });
    return this.ofKey(principal, idempotencyKey);
  }

  ofKey(principal: string, idempotencyKey: string): Promise<StoredRun | undefined> {
    const key = { principal: storedText(principal), idempotencyKey: storedText(idempotencyKey) };
    return this.database.call(async (prisma) => {
      await prisma.$executeRaw`/* runs.expire-key */ update runs set idempotency_key = null
        where principal = ${key.principal} and idempotency_key = ${key.idempotencyKey}
          and created_at < clock_timestamp() - ${this.idempotencyTtlMs}::float8 * interval '1 millisecond'`;
      const row = await prisma.run.findFirst({ where: key });
      return row === null ? undefined : toStoredRun(row);
    });
  }

  async foundTools(principal: string, sessionId: string, before?: Date): Promise<string[]> {
    const given = [storedText(principal), storedText(sessionId), before ?? null];
    const rows = await this.database.query<{ text: string }>(selectFoundTools, given);
    return rows.map(({ text }) => text).reverse();
  }

  async get(principal: string, runId: string): Promise<StoredRun | undefined> {
    const where = { id: storedText(runId), principal: storedText(principal) };
    const row = await this.database.call((prisma) => prisma.run.findUnique({ where }));
    return row === null ? undefined : toStoredRun(row);
  }

  async planRound(round: PlannedRound, audit: AuditContext): Promise<void> {
    this.usage?.send();
    const sessions = makeSessions(round.calls, this.sessions);
    const written = await this.writes.submit('round', plannedRoundRow(round, audit));
    for (const made of sessions) await made;
    if (written === undefined)
      throw new AppError('shutting_down', 'The run continues elsewhere or has ended', { retryAfterSeconds: 1 });
  }

  async rounds(runId: string): Promise<StoredRound[]> {
    return (await this.roundsOf([runId])).get(runId) ?? [];
  }

  end(runId: string, owner: string, end: RunEnd): Promise<boolean> {
    this.usage?.send();
    return this.writes.submit('end', runEndRow(runId, owner, end)).then((written) => written !== undefined);
  }

  async adopt(runId: string, owner: string): Promise<boolean> {
    const adopted = await this.database.call(
      (prisma) => prisma.$executeRaw`/* runs.adopt */
        update runs set state = 'running', owner = ${owner}, ended_at = null, error = null, events_kept = true,
          adoptions = adoptions + 1
        where id = ${storedText(runId)} and state = 'interrupted'`,
    );
    return adopted === 1;
  }

  interruptedDetached(limit: number): Promise<DetachedRun[]> {
    return this.database.query<DetachedRun>(selectInterruptedDetached, [limit]);
  }

  async interruptOrphans(owner: string, isUnderWay: (runId: string) => boolean): Promise<string[]> {
    const running = await this.database.call(
      (prisma) => prisma.$queryRaw<{ id: string }[]>`/* runs.running-of */
        select id from runs where owner = ${owner} and state = 'running'`,
    );
    // Checked after the store: a run that the store lists as running began before that, so it was registered here.
    const orphans = running.map(({ id }) => id).filter((id) => !isUnderWay(id));
    if (orphans.length === 0) return [];
    const interrupted = await this.database.call(
      (prisma) => prisma.$queryRaw<{ id: string }[]>`/* runs.interrupt-orphans */
        update runs set state = 'interrupted', owner = null, ended_at = clock_timestamp()
        where id = any(${orphans}::text[]) and owner = ${owner} and state = 'running'
        returning id`,
    );
    return interrupted.map(({ id }) => id);
  }

  async cancel(principal: string, runId: string): Promise<boolean> {
    const run = { id: storedText(runId), principal: storedText(principal) };
    const cancelled = await this.database.call(async (prisma) => {
      // The running state comes first: the run may be interrupted between the two statements.
      await prisma.run.updateMany({ where: { ...run, state: 'running' }, data: { detached: false } });
      return prisma.run.updateMany({ where: { ...run, state: 'interrupted' }, data: { state: 'cancelled' } });
    });
    return cancelled.count === 1;
  }

  async remove(principal: string, runId: string): Promise<boolean> {
    const removed = await this.database.call((prisma) =>
      prisma.$queryRawUnsafe<{ id: string }[]>(removeRun, storedText(runId), storedText(principal)),
    );
    return removed.length === 1;
  }

  async findByCalls(
    principal: string,
    callIds: readonly string[],
  ): Promise<Map<string, { run: StoredRun; rounds: StoredRound[] }>> {
    if (callIds.length === 0) return new Map();
    const where = { id: { in: callIds.map(storedText) }, principal: storedText(principal), kind: 'client' };
    const found = await this.database.call((prisma) =>
      prisma.toolCall.findMany({
        where: { ...where, runId: { not: null }, round: { not: null } },
        select: { id: true, round: true, runId: true },
      }),
    );
    const runIds = [...new Set(found.map(({ runId }) => runId!))];
    const [rounds, runs] = await Promise.all([this.roundsOf(runIds), this.runsOf(runIds)]);
    return new Map(
      found.flatMap(({ id, round, runId }) => {
        const run = runs.get(runId!);
        if (run === undefined || run.replayOf !== undefined) return [];
        const upToIt = (rounds.get(run.id) ?? []).filter((stored) => stored.round <= round!);
        return [[id, { run, rounds: upToIt }]];
      }),
    );
  }

  private async runsOf(runIds: readonly string[]): Promise<Map<string, StoredRun>> {
    if (runIds.length === 0) return new Map();
    const rows = await this.database.call((prisma) => prisma.run.findMany({ where: { id: { in: [...runIds] } } }));
    return new Map(rows.map((row) => [row.id, toStoredRun(row)]));
  }

  private async roundsOf(runIds: readonly string[]): Promise<Map<string, StoredRound[]>> {
    const ids = runIds.map(storedText);
    if (ids.length === 0) return new Map();
    const [rounds, calls] = await this.database.call((prisma) =>
      Promise.all([
        prisma.runRound.findMany({ where: { runId: { in: ids } }, orderBy: [{ runId: 'asc' }, { round: 'asc' }] }),
        prisma.toolCall.findMany({
          where: { runId: { in: ids } },
          orderBy: [{ runId: 'asc' }, { round: 'asc' }, { position: 'asc' }],
        }),
      ]),
    );
    const callsOf = new Map<string, StoredCall[]>();
    for (const call of calls) append(callsOf, `${call.runId} ${call.round}`, toStoredCall(call));
    const byRun = new Map<string, StoredRound[]>();
    for (const row of rounds) {
      append(byRun, row.runId, toStoredRound(row, callsOf.get(`${row.runId} ${row.round}`) ?? []));
    }
    return byRun;
  }
}

type BegunRun = Awaited<ReturnType<RunStore['begin']>>;

const created = (run: NewRun, { result }: WriteResult): BegunRun => ({
  created: true,
  run: begunRun(run, new Date(result as string)),
});

function append<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
