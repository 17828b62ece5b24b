// The run store on PostgreSQL. A run is written by the gateway that owns it and by nobody else; writes of concurrent
// turns share statements.
import { GroupCommit } from '#libs/database/group-commit.js';
import type { Database } from '#libs/database/open-database.js';
import { storedText } from '#libs/database/stored-text.js';
import { AppError } from '#libs/schemas/errors.js';
import { toStoredCall } from './call-rows.js';
import { insertBursts, planRounds } from './call-statements.js';
import { arrayOf } from './postgres-journal.js';
import { begunRun, newRunRow, plannedRoundRow, runEndRow, toStoredRound, toStoredRun } from './run-rows.js';
import type {
  AuditContext,
  NewRun,
  PlannedRound,
  RunEnd,
  RunStore,
  StoredCall,
  StoredRound,
  StoredRun,
} from './run-store.js';

export interface RunStoreOptions {
  /** Life of an Idempotency-Key (`runs.idempotency_ttl_ms`). */
  idempotencyTtlMs?: number;
  /** False writes no audit rows (`audit.enabled`). */
  audit?: boolean;
}

const insertRuns = `/* runs.begin */ with
  input as (
    select * from rows from (jsonb_to_recordset($1::jsonb) as (id text, principal text, key_id text, request_id text,
      idempotency_key text, request_hash text, session_id text, dialect text, detached boolean, request text, owner text,
      usage text)) with ordinality as run)
  insert into runs (id, principal, key_id, request_id, idempotency_key, request_hash, session_id, dialect, detached,
    request, owner, usage, state)
  select id, principal, key_id, request_id, idempotency_key, request_hash, session_id, dialect, detached, request::json,
    owner, usage::json, 'running' from input order by ordinality
  on conflict do nothing
  returning id, created_at`;

const endRuns = `/* runs.end */ with
  input as (
    select * from rows from (jsonb_to_recordset($1::jsonb) as (id text, owner text, state text, usage text, answer text,
      error text, first_n int, last_n int, events text)) with ordinality as run_end),
  ended as (
    update runs set state = input.state, usage = input.usage::json, answer = input.answer::json,
      error = input.error::json, ended_at = case when input.state = 'waiting' then null else clock_timestamp() end
    from input
    where runs.id = any(array(select id from input)) and runs.id = input.id and runs.owner = input.owner
      and runs.state in ('running', 'waiting')
    returning input.*),
  told as (${insertBursts('ended', 'id')})
  select ordinality from ended`;

export class PostgresRunStore implements RunStore {
  private readonly begins: GroupCommit<string, Date | undefined>;
  private readonly plans: GroupCommit<string, boolean>;
  private readonly ends: GroupCommit<string, boolean>;
  private readonly idempotencyTtlMs: number;

  constructor(
    private readonly database: Database,
    { idempotencyTtlMs = 86_400_000, audit = true }: RunStoreOptions = {},
  ) {
    this.idempotencyTtlMs = idempotencyTtlMs;
    const bounds = { timeoutMs: database.timeoutMs };
    this.begins = new GroupCommit(async (rows) => {
      const written = await database.call((prisma) =>
        prisma.$queryRawUnsafe<{ id: string; created_at: Date }[]>(insertRuns, arrayOf(rows)),
      );
      const begun = new Map(written.map((row) => [row.id, row.created_at]));
      return rows.map((row) => begun.get((JSON.parse(row) as { id: string }).id));
    }, bounds);
    const numbered = (statement: string, ...parameters: unknown[]) =>
      new GroupCommit<string, boolean>(async (rows) => {
        const written = await database.call((prisma) =>
          prisma.$queryRawUnsafe<{ ordinality: bigint }[]>(statement, arrayOf(rows), ...parameters),
        );
        const done = new Set(written.map((row) => Number(row.ordinality)));
        return rows.map((_row, index) => done.has(index + 1));
      }, bounds);
    this.plans = numbered(planRounds, audit);
    this.ends = numbered(endRuns);
  }

  async begin(run: NewRun): Promise<{ created: boolean; run: StoredRun }> {
    const row = JSON.stringify(newRunRow(run));
    // A key that is taken may expire, and its run may be gone, between two looks.
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const createdAt = await this.begins.submit(row);
      if (createdAt !== undefined) return { created: true, run: begunRun(run, createdAt) };
      const stored = await this.holderOf(run);
      if (stored !== undefined) return { created: false, run: stored };
    }
    throw new AppError('store_unavailable', 'The store is busy', { retryAfterSeconds: 1 });
  }

  /** The run that has the key; undefined once it has lost it to age. */
  private async holderOf({ principal, idempotencyKey, id }: NewRun): Promise<StoredRun | undefined> {
    if (idempotencyKey === undefined) throw new AppError('internal_error', 'Internal error', { cause: `run id ${id}` });
    const key = { principal: storedText(principal), idempotencyKey: storedText(idempotencyKey) };
    return this.database.call(async (prisma) => {
      await prisma.$executeRaw`/* runs.expire-key */ update runs set idempotency_key = null
        where principal = ${key.principal} and idempotency_key = ${key.idempotencyKey}
          and created_at < clock_timestamp() - ${this.idempotencyTtlMs}::float8 * interval '1 millisecond'`;
      const row = await prisma.run.findUnique({ where: { principal_idempotencyKey: key } });
      return row === null ? undefined : toStoredRun(row);
    });
  }

  async get(principal: string, runId: string): Promise<StoredRun | undefined> {
    const where = { id: storedText(runId), principal: storedText(principal) };
    const row = await this.database.call((prisma) => prisma.run.findUnique({ where }));
    return row === null ? undefined : toStoredRun(row);
  }

  async planRound(round: PlannedRound, audit: AuditContext): Promise<void> {
    const written = await this.plans.submit(JSON.stringify(plannedRoundRow(round, audit)));
    if (!written)
      throw new AppError('shutting_down', 'The run goes on elsewhere or has ended', { retryAfterSeconds: 1 });
  }

  async rounds(runId: string): Promise<StoredRound[]> {
    return (await this.roundsOf([runId])).get(runId) ?? [];
  }

  async end(runId: string, owner: string, end: RunEnd): Promise<boolean> {
    return this.ends.submit(JSON.stringify(runEndRow(runId, owner, end)));
  }

  async adopt(runId: string, owner: string): Promise<boolean> {
    const adopted = await this.database.call((prisma) =>
      prisma.run.updateMany({
        where: { id: storedText(runId), state: 'interrupted' },
        data: { state: 'running', owner, endedAt: null, eventsKept: true },
      }),
    );
    return adopted.count === 1;
  }

  async interruptOrphans(owner: string, isUnderWay: (runId: string) => boolean): Promise<string[]> {
    const running = await this.database.call(
      (prisma) => prisma.$queryRaw<{ id: string }[]>`/* runs.running-of */
        select id from runs where owner = ${owner} and state = 'running'`,
    );
    // Asked after the store: what it knows as running began before, and so was under way before.
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
    const where = { id: storedText(runId), principal: storedText(principal), state: 'interrupted' };
    const cancelled = await this.database.call((prisma) =>
      prisma.run.updateMany({ where, data: { state: 'cancelled' } }),
    );
    return cancelled.count === 1;
  }

  async remove(principal: string, runId: string): Promise<boolean> {
    const removed = await this.database.call((prisma) =>
      prisma.run.deleteMany({
        where: {
          id: storedText(runId),
          principal: storedText(principal),
          state: { notIn: ['running', 'waiting'] },
          calls: { none: { kind: 'server', state: { in: ['planned', 'parked', 'dispatched'] } } },
        },
      }),
    );
    return removed.count === 1;
  }

  async findByCalls(
    principal: string,
    callIds: readonly string[],
  ): Promise<Map<string, { run: StoredRun; rounds: StoredRound[] }>> {
    if (callIds.length === 0) return new Map();
    const where = { id: { in: callIds.map(storedText) }, principal: storedText(principal), kind: 'client' };
    const found = await this.database.call((prisma) =>
      prisma.toolCall.findMany({
        where: { ...where, runId: { not: null } },
        select: { id: true, round: true, run: true },
      }),
    );
    const rounds = await this.roundsOf([...new Set(found.flatMap(({ run }) => run?.id ?? []))]);
    return new Map(
      found.flatMap(({ id, round, run }) => {
        if (run === null || round === null) return [];
        const upToIt = (rounds.get(run.id) ?? []).filter((stored) => stored.round <= round);
        return [[id, { run: toStoredRun(run), rounds: upToIt }]];
      }),
    );
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

function append<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
