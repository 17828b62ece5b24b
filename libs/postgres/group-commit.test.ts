import { expect, test } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { GroupCommit } from './group-commit.js';

/** Writes that end when the test says so. */
function heldWrite() {
  const batches: number[][] = [];
  const held: (() => void)[] = [];
  const write = async (rows: readonly number[]): Promise<number[]> => {
    batches.push([...rows]);
    await new Promise<void>((resolve) => held.push(resolve));
    return rows.map((row) => row * 10);
  };
  const release = async (): Promise<void> => {
    while (held.length === 0) await new Promise(setImmediate);
    held.shift()!();
  };
  return { batches, write, release };
}

verifies(
  'store.group-commit',
  'rows of one turn of the event loop, and rows that come during a write, share statements',
  async () => {
    const { batches, write, release } = heldWrite();
    const group = new GroupCommit(write, { maxRows: 4 });
    const inOneTurn = [1, 2].map((row) => new Promise(setImmediate).then(() => group.submit(row)));
    const first = Promise.all(inOneTurn);
    while (batches.length === 0) await new Promise(setImmediate);
    const later = Promise.all([3, 4, 5, 6, 7].map((row) => group.submit(row)));
    await release();
    expect(await first).toEqual([10, 20]);
    await release();
    await release();
    expect(await later).toEqual([30, 40, 50, 60, 70]);
    expect(batches).toEqual([[1, 2], [3, 4, 5, 6], [7]]);
  },
);

verifies('store.group-commit-isolates', 'a bad row among good ones', async () => {
  const group = new GroupCommit<number, number>(async (rows) => {
    if (rows.includes(13)) throw Object.assign(new Error('bad'), { code: '22P02' });
    return [...rows];
  });
  const results = await Promise.allSettled([1, 13, 3].map((row) => group.submit(row)));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(await group.submit(4)).toBe(4);
});

verifies('store.group-commit-bounded', 'a full queue, and rows that waited too long', async () => {
  const { batches, write, release } = heldWrite();
  const group = new GroupCommit(write, { maxQueued: 2, timeoutMs: 30 });
  const first = group.submit(1);
  await new Promise(setImmediate);
  const second = group.submit(2);
  const third = group.submit(3);
  const late = Promise.allSettled([second, third]);
  await expect(group.submit(4)).rejects.toMatchObject({ code: 'store_unavailable' });
  await new Promise((resolve) => setTimeout(resolve, 40));
  await release();
  expect(await first).toBe(10);
  const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'store_unavailable' }) as unknown };
  expect(await late).toEqual([refused, refused]);
  expect(batches).toEqual([[1]]);
});

test('a store that is away fails the whole batch at once, not row by row', async () => {
  let writes = 0;
  const group = new GroupCommit<number, number>(async () => {
    writes += 1;
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  });
  const results = await Promise.allSettled([1, 2, 3].map((row) => group.submit(row)));
  expect(results.every(({ status }) => status === 'rejected')).toBe(true);
  expect(writes).toBe(1);
});

verifies('store.group-commit-bounded', 'large rows go in smaller batches, and do not pile up', async () => {
  const batches: number[] = [];
  const group = new GroupCommit<string, void>(
    async (rows) => {
      batches.push(rows.length);
      return rows.map(() => undefined);
    },
    { maxCharacters: 100, maxQueuedCharacters: 200 },
  );
  const rows = [group.submit('x'.repeat(150)), group.submit('x'.repeat(40)), group.submit('x')];
  await expect(group.submit('x'.repeat(40))).rejects.toMatchObject({ code: 'store_unavailable' });
  await Promise.all(rows);
  await group.submit('x'.repeat(1_000));
  expect(batches).toEqual([1, 2, 1]);
});
