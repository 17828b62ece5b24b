import { expect } from 'vitest';
import { GroupCommit } from '#libs/postgres/group-commit.js';
import { AppError } from '#libs/schemas/errors.js';
import { verifies } from '../../test/verifies.js';
import { lateWriteBatch, maxLateWrites, WriteLater } from './write-later.js';

/** Writes as the store does, in shared statements; away until it is told otherwise. */
function open({ forMs = 60_000 } = {}) {
  const statements: string[][] = [];
  const dropped: { key: string; error: unknown }[] = [];
  const store = { away: true, asked: 0, finds: true };
  const later = new WriteLater((key, error) => void dropped.push({ key, error }));
  const writes = new GroupCommit<string, string>(
    async (rows) => {
      if (store.away) throw new AppError('store_unavailable', 'away');
      statements.push([...rows]);
      return rows.map(() => (store.finds ? 'written' : 'again'));
    },
    { charactersOf: () => 1 },
  );
  const fail = (from: number, to: number) => {
    for (const key of keys(from, to)) {
      const write = () => ((store.asked += 1), writes.submit(key));
      void later.add(key, write, forMs);
    }
  };
  return { later, store, statements, dropped, fail };
}

const keys = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `key_${from + at}`);

verifies('store.written-later', 'more than are remembered, and the store comes back', async () => {
  const { later, store, statements, dropped, fail } = open();
  fail(0, maxLateWrites + 3);
  // One batch asks for all.
  await expect.poll(() => store.asked).toBeGreaterThan(lateWriteBatch);
  expect(store.asked % lateWriteBatch).toBeLessThanOrEqual(1);
  expect(dropped.map(({ key }) => key)).toEqual(keys(0, 3));
  expect([later.has('key_2'), later.has('key_3')]).toEqual([false, true]);
  store.away = false;
  await expect.poll(() => statements.flat().length).toBe(maxLateWrites);
  expect(statements.flat()).toEqual(keys(3, maxLateWrites + 3));
  expect(statements).toHaveLength(Math.ceil(maxLateWrites / lateWriteBatch));
  await expect.poll(() => later.has(`key_${maxLateWrites + 2}`)).toBe(false);
  // The line that came to its end begins again.
  fail(maxLateWrites + 3, maxLateWrites + 4);
  await expect.poll(() => statements.flat().length).toBe(maxLateWrites + 1);
  await later.close();
  expect(dropped).toHaveLength(3);
});

verifies('store.written-later', 'its time is over before the store is back', async () => {
  const { later, store, dropped, fail } = open({ forMs: 0 });
  fail(0, 2);
  await expect.poll(() => dropped.length).toBe(2);
  expect(dropped[0]).toMatchObject({ key: 'key_0', error: { code: 'store_unavailable' } });
  expect([store.asked, later.has('key_0')]).toEqual([2, false]);
  await later.close();
});

verifies(
  'store.written-later',
  'what there is nothing to write for is looked for again, and missed by nobody',
  async () => {
    const { later, store, statements, dropped, fail } = open();
    store.away = false;
    store.finds = false;
    fail(0, 1);
    await expect.poll(() => statements.length).toBeGreaterThan(1);
    store.finds = true;
    await expect.poll(() => later.has('key_0')).toBe(false);
    store.finds = false;
    fail(1, 2);
    await later.close();
    expect([later.has('key_1'), dropped]).toEqual([false, []]);
  },
);

verifies('store.written-later', 'its process stops', async () => {
  const back = open();
  back.fail(0, 5);
  await expect.poll(() => back.store.asked).toBeGreaterThan(0);
  back.store.away = false;
  // In the middle of a pause: what waits is written now.
  await back.later.close();
  expect([back.statements.flat().length, back.dropped]).toEqual([5, []]);

  const away = open();
  away.fail(0, 5);
  await away.later.close();
  const { asked } = away.store;
  expect(away.dropped).toHaveLength(5);
  away.fail(5, 6);
  expect(away.dropped).toHaveLength(6);
  // Longer than a pause of a line that still worked.
  await new Promise((resolve) => setTimeout(resolve, 250));
  expect(away.store.asked).toBe(asked);
});
