import { afterAll, beforeAll, expect } from 'vitest';
import { SharedPlaces } from '#libs/limits/shared-places.js';
import { silentLogger } from '#libs/logging/logger.js';
import { eventually } from '../../../test/support/eventually.js';
import { lonePlaces } from '../../../test/support/lone-places.js';
import { openServices, type Services } from '../../../test/support/queue-path.js';
import { verifies } from '../../../test/verifies.js';
import { TurnAdmission, turnsOfPrincipal } from './turn-admission.js';

let services: Services;
beforeAll(async () => {
  services = await openServices();
});
afterAll(() => services?.close());

function open({ turns, principalTurns }: { turns: number; principalTurns?: number }, places = lonePlaces()) {
  const refused: string[] = [];
  const bounds = { turns, principalTurns: turnsOfPrincipal(principalTurns), places };
  const turnsHere = new TurnAdmission({ ...bounds, onRefused: (limit) => refused.push(limit) });
  const admission = {
    enter: async (caller: { principal: string }) => turnsHere.enter(caller),
    drain: () => turnsHere.drain(60_000),
  };
  return { admission, refused };
}

/** One of several gateways, whose principals have two turns on all of them. */
function openShared(holder: string, { backing }: Services = services) {
  const places = new SharedPlaces({
    counters: backing.counters,
    holder,
    isAlone: () => false,
    logger: silentLogger,
  });
  return { places, ...open({ turns: 9, principalTurns: 2 }, places) };
}

const full = expect.objectContaining({ code: 'concurrency_exceeded', http: 429, retryAfterSeconds: 1 });

verifies('chat.overload.principal', 'one that is full keeps nobody else out', async () => {
  const { admission, refused } = open({ turns: 5, principalTurns: 2 });
  const leave = await admission.enter({ principal: 'ann' });
  const leaveToo = await admission.enter({ principal: 'ann' });
  await expect(admission.enter({ principal: 'ann' })).rejects.toEqual(full);
  await admission.enter({ principal: 'bob' });
  expect(refused).toEqual(['principal_turns']);
  leave();
  // Leaving twice releases one place.
  leave();
  (await admission.enter({ principal: 'ann' }))();
  leaveToo();
  for (let again = 0; again < 2; again += 1) await admission.enter({ principal: 'ann' });
  await expect(admission.enter({ principal: 'ann' })).rejects.toEqual(full);
});

verifies('chat.overload', 'whoever they are of, with room left for each principal', async () => {
  const { admission, refused } = open({ turns: 2, principalTurns: 2 });
  const leave = await admission.enter({ principal: 'ann' });
  await admission.enter({ principal: 'bob' });
  await expect(admission.enter({ principal: 'cid' })).rejects.toEqual(full);
  expect(refused).toEqual(['turns']);
  leave();
  await admission.enter({ principal: 'cid' });
  await expect(admission.enter({ principal: 'ann' })).rejects.toEqual(full);
});

verifies('chat.overload.principal', 'unless it is set: 64 of a key, any number without keys', async () => {
  const { admission } = open({ turns: 1_000 });
  const enterAll = async (principal: string, times: number) => {
    for (let turn = 0; turn < times; turn += 1) await admission.enter({ principal });
  };
  await enterAll('ann', 64);
  await expect(admission.enter({ principal: 'ann' })).rejects.toEqual(full);
  await enterAll('local', 200);
  const { admission: set } = open({ turns: 1_000, principalTurns: 1 });
  await set.enter({ principal: 'local' });
  await expect(set.enter({ principal: 'local' })).rejects.toEqual(full);
});

verifies('chat.overload.principal-shared', 'one on each of two gateways, given back at its end', async () => {
  const [here, there] = [openShared('here'), openShared('there')];
  const ann = { principal: 'ann' };
  const leave = await here.admission.enter(ann);
  const leaveToo = await there.admission.enter(ann);
  await expect(here.admission.enter(ann)).rejects.toEqual(full);
  await expect(there.admission.enter(ann)).rejects.toEqual(full);
  expect([here.refused, there.refused]).toEqual([['principal_turns'], ['principal_turns']]);
  (await there.admission.enter({ principal: 'bob' }))();
  leave();
  let again: (() => void) | undefined;
  await eventually(async () => (again = await there.admission.enter(ann).catch(() => undefined)) !== undefined);
  await expect(here.admission.enter(ann)).rejects.toEqual(full);
  leaveToo();
  again!();
  // A refused turn does not delay a shutdown.
  await Promise.all([here.admission.drain(), there.admission.drain()]);
  await Promise.all([here.places.close(), there.places.close()]);
});

verifies('chat.overload.principal-shared', 'as many at once as the limit, wherever they come', async () => {
  const gateways = [openShared('one'), openShared('two'), openShared('three')];
  const enter = (number: number) => gateways[number % 3]!.admission.enter({ principal: 'cid' });
  const entered = await Promise.allSettled(Array.from({ length: 30 }, (_, number) => enter(number)));
  const running = entered.filter(({ status }) => status === 'fulfilled');
  expect(running.length).toBeGreaterThan(0);
  expect(running.length).toBeLessThanOrEqual(2);
  await Promise.all(gateways.map(({ places }) => places.close()));
});

verifies('chat.overload.principal-shared', 'without the store a gateway counts its own, at once', async () => {
  const own = await openServices();
  const { admission, places, refused } = openShared('left', own);
  await own.close();
  const dan = { principal: 'dan' };
  const leave = await admission.enter(dan);
  await admission.enter(dan);
  await expect(admission.enter(dan)).rejects.toEqual(full);
  leave();
  await admission.enter(dan);
  expect(refused).toEqual(['principal_turns']);
  await places.close();
});
