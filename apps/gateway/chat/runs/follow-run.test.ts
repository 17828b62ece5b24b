import { getEventListeners } from 'node:events';
import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { type FollowPorts, followRun } from './follow-run.js';

verifies('runs.follower-leaves-nothing', 'a run that says nothing for some looks', async () => {
  let looks = 0;
  const ports = {
    runs: { get: async () => ({ state: (looks += 1) < 4 ? 'running' : 'interrupted' }) },
    log: { read: async () => [] },
    channels: { subscribe: async () => async () => undefined },
  } as unknown as FollowPorts;
  const { signal } = new AbortController();
  const following = followRun({ principal: 'local', runId: 'run_1', afterN: 0, signal }, ports).next();
  await expect.poll(() => looks, { timeout: 5_000 }).toBe(3);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  expect((await following).done).toBe(true);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
