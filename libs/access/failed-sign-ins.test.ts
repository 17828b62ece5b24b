// Two gateways count failed sign-ins in a real store.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Backing } from '#libs/backing/backing.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { silentLogger } from '#libs/logging/logger.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import { FailedSignIns } from './failed-sign-ins.js';

let database: TestDatabase;
let backing: Backing;
beforeAll(async () => {
  database = await createMigratedDatabase();
  backing = await openBacking({ databaseUrl: database.url });
});
afterAll(async () => {
  await backing?.close();
  await database?.drop();
});

function openGateway(counters = backing.counters) {
  const clock = { movedMs: 0 };
  const now = () => performance.now() + clock.movedMs;
  return { clock, failures: new FailedSignIns({ perMinute: 3, counters, logger: silentLogger, now }) };
}

verifies('access.wrong-keys', 'three a minute and address, on two gateways', async () => {
  const [one, two] = [openGateway().failures, openGateway()];
  expect(await one.add('a')).toBeUndefined();
  expect(await two.failures.add('a')).toBeUndefined();
  expect(await one.add('a')).toBeUndefined();
  expect(one.refusedFor('a')).toBeGreaterThan(59);
  expect(two.failures.refusedFor('a')).toBeUndefined();
  expect(await two.failures.add('a')).toBeGreaterThan(59);
  expect(two.failures.refusedFor('a')).toBeGreaterThan(59);
  expect(two.failures.refusedFor('b')).toBeUndefined();
  two.clock.movedMs = 66_000;
  expect(two.failures.refusedFor('a')).toBeUndefined();
});

test('at once: as many as are allowed, whoever counts them', async () => {
  const gateways = [openGateway().failures, openGateway().failures];
  const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => gateways[n % 2]!.add('at once')));
  expect(answers.filter((wait) => wait === undefined)).toHaveLength(3);
});

test('with the store away each gateway counts for itself, and remembers a bounded number', async () => {
  const own = await openBacking({ databaseUrl: database.url });
  await own.close();
  const { failures, clock } = openGateway(own.counters);
  for (let n = 0; n < 3; n++) expect(await failures.add('a')).toBeUndefined();
  expect(failures.refusedFor('a')).toBe(60);
  expect(await failures.add('a')).toBe(60);
  for (let n = 0; n < 10_000; n++) await failures.add(`other-${n}`);
  expect(failures.refusedFor('a')).toBeUndefined();
  clock.movedMs = 6_000;
  expect(await failures.add('b')).toBeUndefined();
});
