import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { eventually } from '#libs/testing/eventually.js';
import { openServices, type Services } from '../../../../test/support/queue-path.js';
import { verifies } from '../../../../test/verifies.js';
import { PrincipalPlaces } from './principal-places.js';
import { TurnAdmission } from './turn-admission.js';

let services: Services;
beforeAll(async () => {
  services = await openServices();
});
afterAll(() => services?.close());

let gateways = 0;
const open = (options: { ttlMs?: number } = {}) => {
  const gatewayId = `gateway-${++gateways}`;
  return new PrincipalPlaces({ counters: services.backing.counters, gatewayId, logger: silentLogger, ...options });
};
const admission = (places: PrincipalPlaces, refused: string[]) =>
  new TurnAdmission({ turns: 9, principalTurns: () => 2, places, onRefused: (limit) => refused.push(limit) });
const full = expect.objectContaining({ code: 'concurrency_exceeded', http: 429, retryAfterSeconds: 1 });

verifies('chat.overload.principal-shared', 'one on each of two gateways, given back at its end', async () => {
  const refused: string[] = [];
  const [one, two] = [open(), open()];
  const [here, there] = [admission(one, refused), admission(two, refused)];
  const leave = await here.enter({ principal: 'ann' });
  const leaveToo = await there.enter({ principal: 'ann' });
  await expect(here.enter({ principal: 'ann' })).rejects.toEqual(full);
  await expect(there.enter({ principal: 'ann' })).rejects.toEqual(full);
  expect(refused).toEqual(['principal_turns', 'principal_turns']);
  (await there.enter({ principal: 'bob' }))();
  leave();
  let again: (() => void) | undefined;
  await eventually(async () => (again = await there.enter({ principal: 'ann' }).catch(() => undefined)) !== undefined);
  await expect(here.enter({ principal: 'ann' })).rejects.toEqual(full);
  leaveToo();
  again!();
  // A refused turn does not delay a shutdown.
  await Promise.all([here, there].map((each) => each.drain(60_000)));
  one.close();
  two.close();
});

verifies(
  'chat.overload.principal-shared',
  'held for longer than a lease; free after it where its gateway died',
  async () => {
    const ttlMs = 1_200;
    const [dead, living] = [open({ ttlMs }), open({ ttlMs })];
    expect(await dead.take('cid', 1)).toBeDefined();
    await delay(2 * ttlMs);
    expect(await living.take('cid', 1)).toBeUndefined();
    dead.close();
    await eventually(async () => (await living.take('cid', 1)) !== undefined);
    living.close();
  },
);

verifies('chat.overload.principal-shared', 'given back at once, while the others are kept up', async () => {
  const { counters } = services.backing;
  const ttlMs = 4_500;
  let isRenewing = () => {};
  const renewing = new Promise<void>((resolve) => (isRenewing = resolve));
  let goOn = () => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const taken = new Set<string>();
  // A store that delays the first renewal.
  const slow: typeof counters = Object.assign(Object.create(counters) as typeof counters, {
    async acquire(...given: Parameters<typeof counters.acquire>) {
      if (taken.has(given[1]) && given[0].endsWith(':eve')) {
        isRenewing();
        await held;
      }
      taken.add(given[1]);
      return counters.acquire(...given);
    },
  });
  const one = new PrincipalPlaces({ counters: slow, gatewayId: 'slow', logger: silentLogger, ttlMs });
  const two = open();
  await one.take('eve', 9);
  const giveBack = await one.take('fay', 1);
  await renewing;
  expect(await two.take('fay', 1)).toBeUndefined();
  giveBack!();
  // Long before the place expires.
  await eventually(async () => (await two.take('fay', 1)) !== undefined, ttlMs / 3);
  goOn();
  one.close();
  two.close();
});

verifies('chat.overload.principal-shared', 'without the store a gateway counts its own, at once', async () => {
  const own = await openServices();
  const places = new PrincipalPlaces({ counters: own.backing.counters, gatewayId: 'alone', logger: silentLogger });
  await own.close();
  const refused: string[] = [];
  const alone = admission(places, refused);
  const leave = await alone.enter({ principal: 'dan' });
  await alone.enter({ principal: 'dan' });
  await expect(alone.enter({ principal: 'dan' })).rejects.toEqual(full);
  leave();
  await alone.enter({ principal: 'dan' });
  expect(refused).toEqual(['principal_turns']);
  places.close();
});
