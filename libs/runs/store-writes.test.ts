import pg from 'pg';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { openDatabase, type Database } from '#libs/database/open-database.js';
import { someCall, someOutcome, someRound, someRun } from '#libs/testing/stored-rows.js';
import { createMigratedDatabase, type TestDatabase } from '#libs/testing/test-database.js';
import { NO_USAGE } from '#libs/schemas/usage.js';
import { verifies } from '../../test/verifies.js';
import { PostgresJournal } from './postgres-journal.js';
import { PostgresRunStore } from './postgres-run-store.js';

const context = { requestId: 'req_1' };
const ended = { state: 'done', usage: NO_USAGE } as const;

describe('the store', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let runs: PostgresRunStore;
  let journal: PostgresJournal;
  beforeEach(async () => {
    testDatabase = await createMigratedDatabase();
    database = openDatabase({ url: testDatabase.url, poolSize: 4, timeoutMs: 5_000, applicationName: 'test' });
    runs = new PostgresRunStore(database);
    journal = new PostgresJournal(database);
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
