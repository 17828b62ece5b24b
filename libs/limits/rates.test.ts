// Rates counted in a real store, by several gateways.
import { afterAll, beforeAll, expect } from 'vitest';
import type { Backing } from '#libs/backing/backing.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { silentLogger } from '#libs/logging/logger.js';
import { eventually } from '../../test/support/eventually.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import type { RateLimits } from './caller-rates.js';
import { Rates } from './rates.js';
import { rateIdOf, rateLimitsOf } from './rate-limits.js';

let database: TestDatabase;
let backing: Backing;
const open: Rates[] = [];
beforeAll(async () => {
  database = await createMigratedDatabase();
  backing = await openBacking({ databaseUrl: database.url });
});
afterAll(async () => {
  await Promise.all(open.map((rates) => rates.close()));
  await backing?.close();
  await database?.drop();
});

function openGateway(counters = backing.counters) {
  const clock = { movedMs: 0 };
  const rates = new Rates({ counters, logger: silentLogger, now: () => performance.now() + clock.movedMs });
  open.push(rates);
  return { rates, clock };
}
const requestsOnly = (requests: number): RateLimits => ({ requests, tokens: undefined });

verifies('limits.rates-exact', '64 keys on three gateways with ten times their limit', async () => {
  const gateways = [openGateway().rates, openGateway().rates, openGateway().rates];
  const limit = 40;
  const admitted = new Map<string, number>();
  const ask = async (gateway: Rates, key: string) => {
    for (let number = 0; number < (limit * 10) / gateways.length; number += 1) {
      const { refusedBy, waitMs } = await gateway.admit(key, requestsOnly(limit));
      if (refusedBy === undefined) admitted.set(key, (admitted.get(key) ?? 0) + 1);
      else expect(waitMs).toBeGreaterThan(0);
    }
  };
  const keys = Array.from({ length: 64 }, (_, number) => `key ${number}`);
  await Promise.all(keys.flatMap((key) => gateways.map((gateway) => ask(gateway, key))));
  expect(keys.map((key) => admitted.get(key))).toEqual(keys.map(() => limit));
});

verifies(
  'limits.rates-exact',
  'a busy caller asks the store for many at once, and gives back what it does not use',
  async () => {
    let asked = 0;
    const counted = {
      useWindows: (...given: Parameters<Backing['counters']['useWindows']>) => {
        asked += given[0].length;
        return backing.counters.useWindows(...given);
      },
    };
    const [one, two] = [openGateway({ ...backing.counters, ...counted }), openGateway().rates];
    for (let number = 0; number < 300; number += 1) {
      expect((await one.rates.admit('busy', requestsOnly(600))).refusedBy).toBeUndefined();
    }
    expect(asked).toBeLessThan(60);
    one.clock.movedMs = 2_000;
    let others = 0;
    await eventually(async () => {
      while ((await two.admit('busy', requestsOnly(600))).refusedBy === undefined) others += 1;
      return others === 300;
    }, 10_000);
  },
);

verifies('limits.rates-tokens', 'counted after the calls, on all gateways', async () => {
  const [one, two] = [openGateway(), openGateway()];
  const limits: RateLimits = { requests: undefined, tokens: 100 };
  const first = await one.rates.admit('tokens', limits);
  expect(first).toMatchObject({ refusedBy: undefined, left: { tokens: 100 } });
  one.rates.addTokens('tokens', limits, 130);
  expect(await one.rates.admit('tokens', limits)).toMatchObject({ refusedBy: 'tokens', left: { tokens: 0 } });
  await eventually(async () => (await two.rates.admit('tokens', limits)).refusedBy === 'tokens');
  const { waitMs } = await two.rates.admit('tokens', limits);
  expect(waitMs).toBeGreaterThan(30_000);
  expect(waitMs).toBeLessThan(70_000);
});

verifies('limits.rates-away', 'a share of the limit, and then 429', async () => {
  const own = await openBacking({ databaseUrl: database.url });
  await own.close();
  const { rates } = openGateway(own.counters);
  const limits: RateLimits = { requests: 120, tokens: 1_000 };
  const verdicts = [];
  for (let number = 0; number < 30; number += 1) verdicts.push((await rates.admit('away', limits)).refusedBy);
  const admitted = verdicts.filter((refusedBy) => refusedBy === undefined).length;
  expect(admitted).toBeGreaterThan(0);
  expect(admitted).toBeLessThan(30);
});

verifies('limits.rates-free', 'unless it is set: 600 and 1,000,000 of a key or a user, any number without keys', () => {
  const access = { roles: [], scopes: [], tools: {}, limits: {} };
  const usual = { requests: 600, tokens: 1_000_000 };
  expect(rateLimitsOf({ principal: 'local' }, {})).toBeUndefined();
  expect(rateLimitsOf({ principal: 'local' }, { requests_per_minute: 5 })).toEqual(requestsOnly(5));
  expect(rateLimitsOf({ principal: 'ann', access }, {})).toEqual(usual);
  const own = { ...access, limits: { requests_per_minute: 7 } };
  expect(rateLimitsOf({ principal: 'ann', access: own }, { tokens_per_minute: 9 })).toEqual({ requests: 7, tokens: 9 });
  expect(rateIdOf({ principal: 'ann', keyId: 'key_1' })).toBe('key_1');
  expect(rateIdOf({ principal: 'ann' })).toBe('user:ann');
});
