import { expect } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import { TurnAdmission, turnsOfPrincipal } from './turn-admission.js';

function open({ turns, principalTurns }: { turns: number; principalTurns?: number }) {
  const refused: string[] = [];
  const bounds = { turns, principalTurns: turnsOfPrincipal(principalTurns) };
  const admission = new TurnAdmission({ ...bounds, onRefused: (limit) => refused.push(limit) });
  return { admission, refused };
}

const full = expect.objectContaining({ code: 'concurrency_exceeded', http: 429, retryAfterSeconds: 1 });

verifies('chat.overload.principal', 'one that is full keeps nobody else out', () => {
  const { admission, refused } = open({ turns: 5, principalTurns: 2 });
  const leave = admission.enter('ann');
  const leaveToo = admission.enter('ann');
  expect(() => admission.enter('ann')).toThrow(full);
  admission.enter('bob');
  expect(refused).toEqual(['principal_turns']);
  leave();
  // Whoever leaves twice gives back one place.
  leave();
  admission.enter('ann')();
  leaveToo();
  for (let again = 0; again < 2; again += 1) admission.enter('ann');
  expect(() => admission.enter('ann')).toThrow(full);
});

verifies('chat.overload', 'whoever they are of, with room left for each principal', () => {
  const { admission, refused } = open({ turns: 2, principalTurns: 2 });
  const leave = admission.enter('ann');
  admission.enter('bob');
  expect(() => admission.enter('cid')).toThrow(full);
  expect(refused).toEqual(['turns']);
  leave();
  admission.enter('cid');
  expect(() => admission.enter('ann')).toThrow(full);
});

verifies('chat.overload.principal', 'unless it is set: 64 of a key, any number without keys', () => {
  const { admission } = open({ turns: 1_000 });
  const enterAll = (principal: string, times: number) => {
    for (let turn = 0; turn < times; turn += 1) admission.enter(principal);
  };
  enterAll('ann', 64);
  expect(() => admission.enter('ann')).toThrow(full);
  enterAll('local', 200);
  const { admission: set } = open({ turns: 1_000, principalTurns: 1 });
  set.enter('local');
  expect(() => set.enter('local')).toThrow(full);
});
