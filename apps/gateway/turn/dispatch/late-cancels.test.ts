import { expect } from 'vitest';
import { GroupCommit } from '#libs/postgres/group-commit.js';
import { AppError } from '#libs/schemas/errors.js';
import { verifies } from '../../../../test/verifies.js';
import { lateCancelBatch, LateCancels, maxLateCancels } from './late-cancels.js';

/** Writes as the journal does, in shared statements; away until it is told otherwise. */
function open() {
  const statements: { callId: string; requestId: string }[][] = [];
  const store = { away: true, asked: 0, dropped: 0 };
  const writes = new GroupCommit<{ callId: string; requestId: string }, boolean>(
    async (rows) => {
      if (store.away) throw new AppError('store_unavailable', 'away');
      statements.push([...rows]);
      return rows.map(() => true);
    },
    { charactersOf: () => 1 },
  );
  const cancels = new LateCancels({
    journal: {
      cancelPlanned: async ([callId], { requestId }) => {
        store.asked += 1;
        return (await writes.submit({ callId: callId!, requestId })) ? [callId!] : [];
      },
    },
    onDropped: () => void (store.dropped += 1),
  });
  const refuse = (from: number, to: number) => {
    for (let at = from; at < to; at += 1) cancels.add(`call_${at}`, { requestId: `req_${at}` }, undefined);
  };
  return { cancels, store, statements, refuse };
}

verifies('tools.late-cancels-bounded', 'more than are remembered, and the store comes back', async () => {
  const { cancels, store, statements, refuse } = open();
  refuse(0, maxLateCancels + 3);
  // One batch asks for all.
  await expect.poll(() => store.asked).toBeGreaterThan(lateCancelBatch);
  expect(store.asked % lateCancelBatch).toBeLessThanOrEqual(1);
  expect(store.dropped).toBe(3);
  store.away = false;
  await expect.poll(() => statements.flat().length).toBe(maxLateCancels);
  const expected = Array.from({ length: maxLateCancels }, (_, at) => ({
    callId: `call_${at + 3}`,
    requestId: `req_${at + 3}`,
  }));
  expect(statements.flat()).toEqual(expected);
  expect(statements).toHaveLength(Math.ceil(maxLateCancels / lateCancelBatch));
  // The line that came to its end begins again.
  refuse(maxLateCancels + 3, maxLateCancels + 4);
  await expect.poll(() => statements.flat().length).toBe(maxLateCancels + 1);
  await cancels.close();
  expect(store.dropped).toBe(3);
});

verifies('tools.late-cancels-bounded', 'its gateway stops', async () => {
  const back = open();
  back.refuse(0, 5);
  await expect.poll(() => back.store.asked).toBeGreaterThan(0);
  back.store.away = false;
  // In the middle of a pause: what waits is told now.
  await back.cancels.close();
  expect([back.statements.flat().length, back.store.dropped]).toEqual([5, 0]);

  const away = open();
  away.refuse(0, 5);
  await away.cancels.close();
  const { asked } = away.store;
  expect(away.store.dropped).toBe(5);
  away.refuse(5, 6);
  expect(away.store.dropped).toBe(6);
  // Longer than a pause of a line that still worked.
  await new Promise((resolve) => setTimeout(resolve, 250));
  expect(away.store.asked).toBe(asked);
});
