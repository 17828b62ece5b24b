// What is kept for a time after it ended: runs, and the workers that stopped without saying so.
import { afterAll, beforeAll, expect } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { silentLogger } from '#libs/logging/logger.js';
import { noUsage } from '#libs/schemas/usage.js';
import { MapQueue } from '../../../test/support/map-queue.js';
import { someRun } from '../../../test/support/stored-rows.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import { PostgresRunStore } from '../postgres-run-store.js';
import { Reaper, type ReaperOptions, reaperTimes } from './reaper.js';

let made: TestDatabase;
let database: Database;
let runs: PostgresRunStore;
const signal = AbortSignal.timeout(60_000);
beforeAll(async () => {
  made = await createMigratedDatabase();
  database = openDatabase({ url: made.url, poolSize: 2, timeoutMs: 5_000, applicationName: 'test' });
  runs = new PostgresRunStore(database);
});
afterAll(async () => {
  await database?.close();
  await made?.drop();
});

/** A reaper that has watched for long enough. */
const watched = (options: Partial<ReaperOptions> = {}) => {
  const parts = { database, queue: new MapQueue(), logger: silentLogger, publishOutcome: () => undefined };
  const reaper = new Reaper({ ...parts, ...options });
  Object.assign(reaper, { watchedSince: performance.now() - 60_000, lastSeen: performance.now() });
  return reaper;
};
const dead = async (id: string, kind: string): Promise<void> => {
  await database.prisma.$executeRaw`insert into processes (id, kind, details, heartbeat_at)
    values (${id}, ${kind}, '{}', now() - interval '7 seconds')
    on conflict (id) do update set heartbeat_at = excluded.heartbeat_at, gone_at = null`;
};
const begun = async () => {
  const run = someRun({ owner: 'gateway-dead' });
  await runs.begin(run);
  return run;
};

verifies('runs.retention', 'by the setting, and as long as a key is valid', async () => {
  const { runs: settings, limits, usage } = configSchema.parse({ runs: { retention_days: 2 } });
  const times = reaperTimes({ runs: settings, limits, usage });
  const [kept, old] = [await begun(), await begun()];
  for (const run of [kept, old]) await runs.end(run.id, 'gateway-dead', { state: 'done', usage: noUsage });
  await database.prisma.$executeRaw`update runs set ended_at = now() - interval '47 hours' where id = ${kept.id}`;
  await database.prisma.$executeRaw`update runs set ended_at = now() - interval '49 hours' where id = ${old.id}`;
  const keyed = {
    ...times,
    ...reaperTimes({ runs: { ...settings, idempotency_ttl_ms: 180_000_000 }, limits, usage }),
  };
  await watched(keyed).sweep(signal);
  expect(await runs.get('local', old.id)).toBeDefined();
  await watched(times).sweep(signal);
  expect(await runs.get('local', old.id)).toBeUndefined();
  expect(await runs.get('local', kept.id)).toBeDefined();
});

verifies('overview.workers', 'one that dies is shown for a while, once, and comes back', async () => {
  const gone = async () =>
    (await database.query<{ id: string }>('select id from processes where gone_at is not null', [])).map(
      ({ id }) => id,
    );
  await database.prisma.$executeRaw`delete from processes where id = 'worker-dead'`;
  await dead('worker-dead', 'worker');
  expect((await watched().sweep(signal)).expired).toEqual(['worker-dead']);
  expect(await gone()).toEqual(['worker-dead']);
  expect((await watched().sweep(signal)).expired).toEqual([]);
  await dead('worker-dead', 'worker');
  expect(await gone()).toEqual([]);
  await watched().sweep(signal);
  await database.prisma
    .$executeRaw`update processes set gone_at = now() - interval '16 minutes' where id = 'worker-dead'`;
  expect((await watched().sweep(signal)).expired).toEqual([]);
  expect(await database.query('select id from processes where id = $1', ['worker-dead'])).toEqual([]);
});
