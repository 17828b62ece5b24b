import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { verifyAudit } from '#libs/audit/chain/verify-audit.js';
import { ConfigError } from '#libs/config/config-error.js';
import { createTestDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import { migrate, MigrationError } from './migrate.js';
import { openDatabase } from './open-database.js';
import { Prisma } from './prisma-client/client.js';

const signal = () => AbortSignal.timeout(20_000);

/** Earlier migrations were never released, so nobody depends on what they remove. */
const beforeTheFirstRelease = '20261123000000_tool_definitions';
const takesAway =
  /\b(?:DROP (?:TABLE|COLUMN)|RENAME|ALTER COLUMN "\w+" (?:SET DATA )?TYPE|SET NOT NULL)\b|\bADD COLUMN (?![^,;]*DEFAULT)[^,;]*NOT NULL/gi;

/** Makes the table of the same name again, with all columns that the version before writes. */
const remakesATable: Record<string, string[]> = {
  '20261128000000_audit_chain': ['RENAME', 'RENAME', 'DROP TABLE'],
};

test('a migration takes nothing away: the version before still runs while it is applied', async () => {
  const entries = await readdir('prisma/migrations', { withFileTypes: true });
  const taken: Record<string, string[]> = {};
  for (const { name } of entries.filter((entry) => entry.isDirectory() && entry.name !== beforeTheFirstRelease)) {
    const sql = await readFile(join('prisma/migrations', name, 'migration.sql'), 'utf8');
    const found: string[] = sql.replaceAll(/--.*$/gm, '').match(takesAway) ?? [];
    taken[name] = isDeepStrictEqual(found, remakesATable[name]) ? [] : found;
  }
  expect(Object.values(taken).flat()).toEqual([]);
  expect(Object.keys(taken).length).toBeGreaterThanOrEqual(2);
  const examples = ['DROP COLUMN "a"', 'ALTER COLUMN "a" TYPE int', 'ADD COLUMN "a" TEXT NOT NULL', 'RENAME TO "b"'];
  for (const example of examples) expect(`ALTER TABLE "t" ${example};`.match(takesAway), example).toHaveLength(1);
  expect('ALTER TABLE "t" ADD COLUMN "a" TEXT NOT NULL DEFAULT \'x\';'.match(takesAway)).toBeNull();
});

describe('migrate', () => {
  let database: TestDatabase;
  let directory: string;
  let migrations: string[];
  beforeAll(async () => {
    const entries = await readdir('prisma/migrations', { withFileTypes: true });
    migrations = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    migrations.sort();
    directory = await mkdtemp(join(tmpdir(), 'signalbox-migrations-'));
    await cp('prisma/migrations', directory, { recursive: true });
  });
  afterAll(() => rm(directory, { recursive: true }));
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  const query = async <Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  };

  verifies('migrations.applied-once', 'five at once', async () => {
    const results = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url, { signal: signal() })));
    expect(results.flatMap((result) => result.applied)).toEqual(migrations);
    const again = await migrate(database.url, { signal: signal() });
    expect(again.applied).toEqual([]);
  });

  verifies('migrations.prisma-ledger', 'rows as prisma migrate deploy writes them', async () => {
    await migrate(database.url, { signal: signal() });
    const rows = await query(
      `select migration_name, checksum, applied_steps_count, logs, rolled_back_at, finished_at >= started_at as finished
       from _prisma_migrations order by migration_name`,
    );
    expect(rows).toEqual(
      migrations.map((name) => ({
        migration_name: name,
        checksum: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
        applied_steps_count: 1,
        logs: null,
        rolled_back_at: null,
        finished: true,
      })),
    );
  });

  verifies('migrations.drift-refused', 'a changed file, a half done migration', async () => {
    await migrate(database.url, { signal: signal() });
    await query(`update _prisma_migrations set checksum = repeat('0', 64)`);
    await expect(migrate(database.url, { signal: signal() })).rejects.toThrow(/_init has changed since it was applied/);
    await query(`update _prisma_migrations set finished_at = null`);
    await expect(migrate(database.url, { signal: signal() })).rejects.toThrow(/_init was not finished/);
  });

  test('every model of the schema reads from its table', async () => {
    await migrate(database.url, { signal: signal() });
    const open = openDatabase({ url: database.url, poolSize: 1, timeoutMs: 5_000, applicationName: 'test' });
    try {
      for (const model of Object.values(Prisma.ModelName)) {
        const delegate = open.prisma[(model[0]!.toLowerCase() + model.slice(1)) as 'run'];
        // This table has its row from the start.
        const first = model === 'ApiKeysRevision' ? { only: true, revision: 0n } : null;
        expect(await delegate.findFirst()).toEqual(first);
      }
      const [columns] = await query<{ count: number }>(
        `select count(*)::int from information_schema.columns
         where table_schema = 'public' and table_name <> '_prisma_migrations' and data_type <> 'tsvector'
           and table_name not like 'audit\\_events\\_%'`,
      );
      const enums: Record<string, object> = { ...Prisma };
      const fields = Object.values(Prisma.ModelName).map(
        (model) => Object.keys(enums[`${model}ScalarFieldEnum`]!).length,
      );
      expect(fields.reduce((sum, count) => sum + count, 0)).toBe(columns?.count);
    } finally {
      await open.close();
    }
  });

  verifies('audit.converted', 'of two months, with writes of the version before meanwhile', async () => {
    const older = await mkdtemp(join(tmpdir(), 'signalbox-older-'));
    try {
      for (const name of migrations.filter((each) => each < '20261128000000_audit_chain')) {
        await cp(join('prisma/migrations', name), join(older, name), { recursive: true });
      }
      await migrate(database.url, { signal: signal(), directory: older });
    } finally {
      await rm(older, { recursive: true });
    }
    const insert = (at: string) =>
      query(
        `insert into audit_events (id, at, kind, call_id, request_id, principal, success)
         values (gen_random_uuid(), ${at}, 'tool_call', gen_random_uuid()::text, 'r', 'local', true)`,
      );
    for (const at of [`'2026-08-31T23:59:59Z'`, `'2026-09-01T00:00:00Z'`, 'now()']) await insert(at);
    await migrate(database.url, { signal: signal() });
    const open = openDatabase({ url: database.url, poolSize: 1, timeoutMs: 5_000, applicationName: 'test' });
    try {
      expect(await verifyAudit(open)).toMatchObject({ rows: 3, breaks: [], problems: [] });
    } finally {
      await open.close();
    }
    const where = await query<{ partition: string }>(
      'select tableoid::regclass::text as partition from audit_events order by at limit 2',
    );
    expect(where.map(({ partition }) => partition)).toEqual(['audit_events_2026_08', 'audit_events_2026_09']);
    await insert('now()');
  });

  test('a failing migration changes nothing, and a later version’s migrations are left alone', async () => {
    const broken = join(directory, '29991231000000_broken');
    await cp(join(directory, '20261121000000_init'), broken, { recursive: true });
    await writeFile(join(broken, 'migration.sql'), 'create table later (id int); select nonsense;');
    const failure = migrate(database.url, { signal: signal(), directory });
    await expect(failure).rejects.toThrow(MigrationError);
    await expect(failure).rejects.toThrow(/_broken failed, nothing was changed/);
    expect(await query(`select to_regclass('runs') as runs`)).toEqual([{ runs: null }]);
    await writeFile(join(broken, 'migration.sql'), 'create table later (id int);');
    expect((await migrate(database.url, { signal: signal(), directory })).applied).toEqual([
      ...migrations,
      '29991231000000_broken',
    ]);
    expect((await migrate(database.url, { signal: signal() })).applied).toEqual([]);
  });

  test('an abort and a database that is away end it at once', async () => {
    await expect(migrate(database.url, { signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
    const nobody = migrate('postgres://nobody@127.0.0.1:9/none', { signal: signal() });
    await expect(nobody).rejects.toMatchObject({
      code: 'store_unavailable',
      message: 'PostgreSQL at 127.0.0.1:9 (DATABASE_URL) cannot be reached (ECONNREFUSED)',
    });
  });

  verifies('migrations.refusal-reported', 'password, none, database, rights', async () => {
    const refused = async (change: (url: URL) => void) => {
      const url = new URL(database.url);
      change(url);
      const failure = await migrate(url.href, { signal: signal() }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(ConfigError);
      return (failure as ConfigError).problems.map(({ key, message }) => `${key}: ${message}`).join();
    };
    expect(await refused((url) => (url.password = 'wrong'))).toMatch(/^DATABASE_URL: .*its password \(28P01\)$/);
    expect(await refused((url) => (url.password = ''))).toBe('DATABASE_URL: PostgreSQL requires a password');
    expect(await refused((url) => (url.pathname = '/none'))).toBe('DATABASE_URL: there is no such database (3D000)');
    const elsewhere = (url: URL) => url.searchParams.set('options', '-c search_path=pg_catalog');
    expect(await refused(elsewhere)).toMatch(/create tables in its schema \(42501\)$/);
  });
});
