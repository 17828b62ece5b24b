import { afterAll, beforeAll, expect } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { silentLogger } from '#libs/logging/logger.js';
import { MapQueue } from '../../../test/support/map-queue.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import { Reaper } from './reaper.js';

let made: TestDatabase;
let database: Database;
beforeAll(async () => {
  made = await createMigratedDatabase();
  database = openDatabase({ url: made.url, poolSize: 2, timeoutMs: 5_000, applicationName: 'test' });
});
afterAll(async () => {
  await database?.close();
  await made?.drop();
});

verifies('limits.usage-kept', 'days and ids of batches, in more than one statement', async () => {
  await database.query(
    `insert into usage_days select (now() at time zone 'UTC')::date - ago, 'key', 'ann', 'p/m', '', 0, 1, 1, 1, 1, 1
     from unnest(array[0, 29, 30, 31, 32, 33, 400]) as ago`,
    [],
  );
  await database.query(
    `insert into usage_batches select gen_random_uuid(), clock_timestamp() - minutes * interval '1 minute'
     from unnest(array[0, 50, 70, 80, 90]) as minutes`,
    [],
  );
  const queue = new MapQueue();
  const parts = { database, queue, logger: silentLogger, publishOutcome: () => undefined };
  const reaper = new Reaper({ ...parts, usageDays: 30, batch: 2 });
  await reaper.sweep(AbortSignal.timeout(30_000));
  const days = await database.query<{ ago: number }>(
    `select (now() at time zone 'UTC')::date - day as ago from usage_days order by 1`,
    [],
  );
  expect(days.map(({ ago }) => ago)).toEqual([0, 29, 30]);
});
