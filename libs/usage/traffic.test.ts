import { afterAll, beforeAll, expect } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { AppError } from '#libs/schemas/errors.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import { Traffic } from './traffic.js';

const hourMs = 3_600_000;
const start = Date.UTC(2026, 10, 1, 12);
let made: TestDatabase;
let database: Database;
let now = start;

beforeAll(async () => {
  made = await createMigratedDatabase();
  database = openDatabase({ url: made.url, poolSize: 2, timeoutMs: 5_000, applicationName: 'test' });
});
afterAll(async () => {
  await database?.close();
  await made?.drop();
});

const open = (gatewayId: string, through: Pick<Database, 'query'> = database) =>
  new Traffic({ database: through, gatewayId, logger: silentLogger, now: () => now });

verifies('overview.traffic', 'two gateways, two principals, two hours', async () => {
  const [one, other] = [open('gateway-1'), open('gateway-2')];
  now = start;
  for (let count = 0; count < 95; count += 1) one.turn('ann', 100);
  for (let count = 0; count < 5; count += 1) other.turn('bob', 10_000);
  one.call('ann', false);
  other.call('bob', true);
  one.cost('ann', 2_500_000_000);
  await Promise.all([one.flush(), other.flush()]);
  // What is written again changes nothing.
  one.turn('ann', 100);
  await one.flush();
  now = start + hourMs + 1;
  other.turn('bob', 3);
  await other.flush();

  const all = await one.read();
  expect(all).toHaveLength(24);
  expect(all.at(-1)).toMatchObject({ hour: new Date(start + hourMs), requests: 1, calls: 0, costUsd: 0 });
  const before = all.at(-2)!;
  expect(before).toMatchObject({ requests: 101, calls: 2, failures: 1, costUsd: 2.5 });
  expect(before.p95Ms).toBeGreaterThanOrEqual(100);
  expect(before.p95Ms).toBeLessThanOrEqual(120);
  expect(all[0]).toEqual({
    hour: new Date(start - 22 * hourMs),
    requests: 0,
    calls: 0,
    failures: 0,
    costUsd: 0,
    p95Ms: undefined,
  });
  const bobs = (await one.read('bob')).at(-2)!;
  expect(bobs).toMatchObject({ requests: 5, calls: 1, failures: 1, costUsd: 0 });
  expect(bobs.p95Ms).toBeGreaterThanOrEqual(10_000);
  expect(bobs.p95Ms).toBeLessThanOrEqual(12_000);
  expect((await one.read('nobody')).every(({ requests }) => requests === 0)).toBe(true);
});

verifies('overview.traffic', 'a store that is away for a while', async () => {
  let away = true;
  const traffic = open('gateway-3', {
    query: (statement, parameters) =>
      away ? Promise.reject(new AppError('store_unavailable', 'away')) : database.query(statement, parameters),
  });
  traffic.turn('cat', 1);
  await traffic.flush();
  traffic.turn('cat', 1);
  away = false;
  expect((await traffic.read('cat')).at(-1)).toMatchObject({ requests: 2 });
  await traffic.close();
});
