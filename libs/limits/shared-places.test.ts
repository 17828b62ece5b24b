// Calls at once on several processes, counted in a real store.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Backing } from '#libs/backing/backing.js';
import { openBacking } from '#libs/backing/open-backing.js';
import type { FairSlots } from '#libs/concurrency/fair-slots.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { silentLogger } from '#libs/logging/logger.js';
import { eventually } from '../../test/support/eventually.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import { SharedPlaces, type SharedPlacesParts } from './shared-places.js';

let database: TestDatabase;
let backing: Backing;
const open: SharedPlaces[] = [];
beforeAll(async () => {
  database = await createMigratedDatabase();
  backing = await openBacking({ databaseUrl: database.url });
});
afterAll(async () => {
  await Promise.all(open.map((places) => places.close()));
  await backing?.close();
  await database?.drop();
});

let processes = 0;
function openProcess(limit: number, given: Partial<SharedPlacesParts> = {}) {
  const { isAlone = () => false, counters = backing.counters } = given;
  const places = new SharedPlaces({ counters, holder: `process-${++processes}`, isAlone, logger: silentLogger });
  open.push(places);
  return { places, slots: places.slots({ name: 'calls', limit, maxWaiting: 1_000, what: 'test' }) };
}
const patient = () => ({ signal: new AbortController().signal, deadline: steadyNow() + 30_000 });

/** Calls that take a moment; counts how many of them ran at once. */
function callsOf(key: string) {
  const seen = { running: 0, most: 0, ended: 0 };
  const call = async (slots: FairSlots) => {
    const giveBack = await slots.take(key, patient());
    seen.most = Math.max(seen.most, ++seen.running);
    await delay(5);
    seen.running--;
    seen.ended++;
    giveBack();
  };
  return { seen, call };
}

verifies('limits.calls-shared', 'three processes with ten times the limit each', async () => {
  const limit = 4;
  const { seen, call } = callsOf('busy');
  const all = [openProcess(limit), openProcess(limit), openProcess(limit)];
  const ends = all.map(() => 0);
  await Promise.all(
    all.flatMap(({ slots }, at) => Array.from({ length: 10 * limit }, () => call(slots).then(() => (ends[at]! += 1)))),
  );
  expect(seen).toEqual({ running: 0, most: limit, ended: 30 * limit });
});

verifies('limits.calls-shared', 'one place, for which three processes take turns', async () => {
  const { seen, call } = callsOf('single');
  const all = [openProcess(1), openProcess(1), openProcess(1)];
  await Promise.all(all.flatMap(({ slots }) => Array.from({ length: 3 }, () => call(slots))));
  expect(seen).toEqual({ running: 0, most: 1, ended: 9 });
});

verifies('limits.calls-shared', 'a process that is always busy lets another in', async () => {
  const limit = 2;
  const [busy, other] = [openProcess(limit), openProcess(limit)];
  const { seen, call } = callsOf('never idle');
  const stop = new AbortController();
  const loop = async () => {
    while (!stop.signal.aborted) await call(busy.slots);
  };
  const loops = Array.from({ length: 3 * limit }, loop);
  await eventually(async () => seen.ended > 10);
  await Promise.all([call(other.slots), call(other.slots)]);
  stop.abort();
  await Promise.all(loops);
  expect(seen.most).toBe(limit);
});

verifies(
  'limits.calls-shared',
  'a wait that ends leaves nothing behind, and what is unused is given back',
  async () => {
    const [one, two] = [openProcess(1), openProcess(1)];
    const giveBack = await one.slots.take('left', patient());
    const late = { ...patient(), deadline: steadyNow() + 50 };
    await expect(two.slots.take('left', late)).rejects.toMatchObject({ code: 'concurrency_exceeded' });
    giveBack();
    // `two` does not want it any more, or `one` would wait for it.
    (await one.slots.take('left', patient()))();
    (await two.slots.take('left', patient()))();
  },
);

verifies(
  'limits.calls-alone',
  'a process without others asks no store; it shares as soon as another comes',
  async () => {
    let asked = 0;
    const counters = Object.assign(Object.create(backing.counters) as typeof backing.counters, {
      sharePlaces: (...given: Parameters<typeof backing.counters.sharePlaces>) => {
        asked += 1;
        return backing.counters.sharePlaces(...given);
      },
    });
    let alone = true;
    const first = openProcess(2, { isAlone: () => alone, counters });
    const both = [await first.slots.take('alone', patient()), await first.slots.take('alone', patient())];
    expect(asked).toBe(0);
    alone = false;
    await eventually(async () => asked > 0);
    const second = openProcess(2);
    let came = false;
    const waits = second.slots.take('alone', patient()).then((giveBack) => ((came = true), giveBack));
    await eventually(async () => asked > 2);
    expect(came).toBe(false);
    both[0]!();
    (await waits)();
    both[1]!();
  },
);

verifies('limits.calls-alone', 'without the store each process counts by itself', async () => {
  const own = await openBacking({ databaseUrl: database.url });
  await own.close();
  const { slots } = openProcess(2, { counters: own.counters });
  const { seen, call } = callsOf('away');
  await Promise.all(Array.from({ length: 10 }, () => call(slots)));
  expect(seen).toEqual({ running: 0, most: 2, ended: 10 });
});
