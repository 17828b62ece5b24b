import { expect, test } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import { CallRate } from './call-rate.js';

verifies('chimech.rate-limit', 'so many in a minute for each caller, then the wait, then one at a time', () => {
  let now = 1_000_000;
  const rate = new CallRate(60, () => now);
  const entered = Array.from({ length: 60 }, () => rate.enter('a'));
  expect(new Set(entered)).toEqual(new Set([0]));
  expect(rate.enter('a')).toBe(1);
  expect(rate.enter('b')).toBe(0);
  now += 1_000;
  expect([rate.enter('a'), rate.enter('a')]).toEqual([0, 1]);
});

test('callers without end do not fill the memory', () => {
  let now = 0;
  const rate = new CallRate(1, () => now);
  for (let caller = 0; caller < 10_001; caller += 1) rate.enter(String(caller));
  // The first was forgotten for the last.
  expect([rate.enter('0'), rate.enter('9999')]).toEqual([0, 60]);
  now = 60_000;
  expect(rate.enter('9999')).toBe(0);
});
