import { expect, test } from 'vitest';
import { eachInTurn } from './each-in-turn.js';

test('so many at once, in their order, each once', async () => {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const done = eachInTurn([0, 1, 2, 3], 2, (item) => {
    begun.push(item);
    return new Promise<void>((resolve) => void (ends[item] = resolve));
  });
  expect(begun).toEqual([0, 1]);
  ends[1]!();
  await expect.poll(() => begun).toEqual([0, 1, 2]);
  ends[0]!();
  await expect.poll(() => begun).toEqual([0, 1, 2, 3]);
  ends[2]!();
  ends[3]!();
  await done;
});

test('an empty list, and fewer items than may be worked on', async () => {
  const begun: string[] = [];
  await eachInTurn([], 3, async () => void begun.push('none'));
  await eachInTurn(new Set(['one']), 3, async (item) => void begun.push(item));
  expect(begun).toEqual(['one']);
});

test('after a failure nothing more is begun', async () => {
  const begun: number[] = [];
  const failing = eachInTurn([0, 1, 2, 3], 1, async (item) => {
    begun.push(item);
    if (item === 1) throw new Error('enough');
  });
  await expect(failing).rejects.toThrow('enough');
  expect(begun).toEqual([0, 1]);
});
