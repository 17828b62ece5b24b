import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { TurnAdmission, turnsOfPrincipal } from './turn-admission.js';

function open({ turns, principalTurns }: { turns: number; principalTurns?: number }) {
  const refused: string[] = [];
  const bounds = { turns, principalTurns: turnsOfPrincipal(principalTurns) };
  const admission = new TurnAdmission({ ...bounds, onRefused: (limit) => refused.push(limit) });
  return { admission, refused };
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
