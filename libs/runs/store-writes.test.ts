import pg from 'pg';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { someCall, someJob, someOutcome, someRound, someRun } from '../../test/support/stored-rows.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { noUsage } from '#libs/schemas/usage.js';
import { verifies } from '../../test/verifies.js';
import { PostgresEventLog } from './postgres-event-log.js';
import { PostgresJournal } from './postgres-journal.js';
import { PostgresRunStore } from './postgres-run-store.js';
import { PostgresSessionStore } from './sessions/postgres-session-store.js';
import { StoreWrites } from './store-writes.js';

const context = { requestId: 'req_1' };
const ended = { state: 'done', usage: noUsage } as const;

describe('StoreWrites', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let runs: PostgresRunStore;
  let journal: PostgresJournal;
  let log: PostgresEventLog;
  let sessions: PostgresSessionStore;
  beforeEach(async () => {
    testDatabase = await createMigratedDatabase();
    database = openDatabase({ url: testDatabase.url, poolSize: 4, timeoutMs: 5_000, applicationName: 'test' });
    const writes = new StoreWrites(database);
    runs = new PostgresRunStore(database, { writes });
    journal = new PostgresJournal(database, writes);
    log = new PostgresEventLog(database, writes);
    sessions = new PostgresSessionStore(database, { idleTtlMs: 86_400_000, writes });
  });
  afterEach(async () => {
    await database.close();
    await testDatabase.drop();
  });

  const query = async <Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: testDatabase.url });
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  const begun = async () => (await runs.begin(someRun())).run;
  const planned = async (members = {}) => {
    const call = someCall(members);
    await journal.plan(call, context);
    return call;
  };

  verifies('runs.last-round', 'by the owner of the run only', async () => {
    const run = await begun();
    await runs.planRound(someRound(run.id, { calls: [someCall()] }), context);
    const {
      runId: _,
      calls: __,
      ...said
    } = someRound(run.id, { round: 2, content: 'Found it.', finishReason: 'stop' });
    const round = { ...said, providerState: { provider: 'offline', state: { signature: 's' } } };
    const end = { ...ended, answer: {}, round };
    expect(await Promise.all([runs.end(run.id, 'gone', end), runs.end(run.id, run.owner!, end)])).toEqual([
      false,
      true,
    ]);
    const [, stored, ...more] = await runs.rounds(run.id);
    expect(stored).toMatchObject({ ...round, calls: [] });
    expect(more).toEqual([]);
  });

  verifies('journal.claim-brings-arguments', 'to whoever asks, of many in one statement', async () => {
    const large = { text: 'NUL \u0000, half a pair \ud800 '.repeat(10_000) };
    const calls = await Promise.all([large, { n: 1 }, large].map((args) => planned({ arguments: args })));
    const asked = [true, true, false];
    const claims = await Promise.all(
      calls.map(({ id }, index) => journal.claim({ callId: id, worker: 'w', withArguments: asked[index]! })),
    );
    expect(claims.map((claim) => claim?.arguments)).toEqual([large, { n: 1 }, undefined]);
    expect(claims.map((claim) => claim?.attempt)).toEqual([1, 1, 1]);
  });

  verifies('store.group-commit', 'all that a process writes at one moment, whatever it is', async () => {
    const [driven, ending, telling] = [await begun(), await begun(), await begun()];
    const [claimed, refused, finished] = [await planned(), await planned(), await planned()];
    const fence = (await journal.claim({ callId: finished.id, worker: 'worker-1' }))!.fence;
    await journal.end({ ...context, callId: refused.id, outcome: someOutcome });

    const beginning = someRun();
    const [of, single] = [someCall(), someCall()];
    const results = await Promise.all([
      runs.begin(beginning),
      runs.planRound(someRound(driven.id, { calls: [of] }), context),
      runs.end(ending.id, ending.owner!, ended),
      log.append(telling.id, [{ n: 1, event: { type: 'content', text: 'hello' } }]),
      journal.plan(single, context),
      journal.claim({ callId: refused.id, worker: 'worker-1' }),
      journal.claim({ callId: claimed.id, worker: 'worker-1' }),
      journal.end({ ...context, callId: finished.id, fence, outcome: someOutcome }),
      sessions.ensure('local', 'session-1', { metadata: { a: 1 } }),
    ]);
    expect(results).toMatchObject([
      { created: true, run: { id: beginning.id, createdAt: expect.any(Date) as unknown } },
      undefined,
      true,
      undefined,
      undefined,
      undefined,
      { attempt: 1 },
      true,
      { id: 'session-1', metadata: { a: 1 }, expiresAt: expect.any(Date) as unknown },
    ]);
    const written = await query<{ transactions: number; rows: number }>(
      `select count(distinct xmin::text)::int as transactions, count(*)::int as rows from (
         select xmin from runs where id in ('${beginning.id}', '${ending.id}')
         union all select xmin from run_rounds
         union all select xmin from run_events
         union all select xmin from tool_calls where id in ('${[of, single, claimed, finished].map(({ id }) => id).join("','")}')
         union all select xmin from audit_events where call_id = '${finished.id}'
         union all select xmin from sessions) as written`,
    );
    expect(written).toEqual([{ transactions: 1, rows: 10 }]);
  });

  verifies(
    'sessions.made-with-the-call',
    'a call alone, calls of a round, none for those that leave it to a worker',
    async () => {
      const writes = new StoreWrites(database);
      const maker = new PostgresSessionStore(database, { idleTtlMs: 86_400_000, writes });
      const inSession = (sessionId: string) => someCall({ sessionId });
      await new PostgresJournal(database, writes, maker).plan(inSession('alone'), context);
      const stateful = inSession('stateful');
      const calls = [
        inSession('in-round'),
        { ...stateful, job: { ...someJob(stateful), stateful: true } },
        { ...inSession('refused'), outcome: someOutcome },
      ];
      const { id } = await begun();
      await new PostgresRunStore(database, { writes, sessions: maker }).planRound(someRound(id, { calls }), context);
      const made = await query(
        `select session.id, session.xmin = call.xmin as together
       from sessions session join tool_calls call on call.session_id = session.id order by session.id`,
      );
      expect(made).toEqual([
        { id: 'alone', together: true },
        { id: 'in-round', together: true },
      ]);
      expect(['alone', 'in-round', 'stateful'].map((name) => maker.known('local', name)?.id)).toEqual([
        'alone',
        'in-round',
        undefined,
      ]);
    },
  );

  verifies('store.by-index', 'sixty runs in tables that nobody has analyzed', async () => {
    const count = 60;
    const each = Array.from({ length: count }, () => ({ run: someRun(), call: someCall() }));
    for (const { run } of each) await runs.begin(run);
    for (const { run, call } of each) await runs.planRound(someRound(run.id, { calls: [call] }), context);
    const fences = new Map<string, string>();
    for (const { call } of each) {
      fences.set(call.id, (await journal.claim({ callId: call.id, worker: 'worker-1' }))!.fence);
    }
    for (const { call } of each) {
      const fence = fences.get(call.id)!;
      expect(await journal.end({ ...context, callId: call.id, fence, outcome: someOutcome })).toBe(true);
    }
    for (const { run } of each) expect(await runs.end(run.id, run.owner, ended)).toBe(true);
    // A connection tells what it read at its end at the latest.
    await database.close();
    const read = () =>
      query<{ relname: string; inserted: number; scanned: number; found: number }>(
        `select relname, n_tup_ins::int as inserted, seq_tup_read::int as scanned, idx_tup_fetch::int as found
         from pg_stat_user_tables where relname in ('runs', 'tool_calls') order by relname`,
      );
    await expect.poll(read, { timeout: 20_000 }).toMatchObject([{ inserted: count }, { inserted: count }]);
    for (const { scanned, found } of await read()) {
      expect(scanned).toBe(0);
      // By each of its statements, and by the foreign keys of what hangs on it.
      expect(found).toBeLessThanOrEqual(6 * count);
    }
  });
});
