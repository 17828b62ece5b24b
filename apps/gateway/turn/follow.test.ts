import { getEventListeners } from 'node:events';
import { describe, expect } from 'vitest';

import type { NumberedEvent } from '#libs/runs/run-store.js';
import { noUsage } from '#libs/schemas/usage.js';
import { verifies } from '../../../test/verifies.js';
import { type FollowPorts, followRun } from './follow.js';

verifies('runs.follower-leaves-nothing', 'a run that says nothing for some looks', async () => {
  let looks = 0;
  const ports = {
    runs: { get: async () => ({ state: (looks += 1) < 4 ? 'running' : 'interrupted' }) },
    log: { read: async () => [] },
    channels: { subscribe: async () => async () => undefined },
  } as unknown as FollowPorts;
  const { signal } = new AbortController();
  const following = followRun({ principal: 'local', runId: 'run_1', afterN: 0, rewinds: false, signal }, ports).next();
  await expect.poll(() => looks, { timeout: 5_000 }).toBe(3);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  expect((await following).done).toBe(true);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

describe('a run that another gateway continued', () => {
  const events: NumberedEvent[] = [
    { n: 1, event: { type: 'start', model: 'm', runId: 'run_1' } },
    { n: 100_003, event: { type: 'rewind', to: 1 } },
    { n: 100_004, event: { type: 'content', text: 'whole' } },
    { n: 100_005, event: { type: 'done', finishReason: 'stop', usage: noUsage } },
  ];
  const ports = {
    runs: { get: async () => ({ state: 'running' }) },
    log: { read: async (_id: string, afterN: number) => events.filter(({ n }) => n > afterN) },
    channels: { subscribe: async () => async () => undefined },
  } as unknown as FollowPorts;
  const follow = async (afterN: number, rewinds: boolean) => {
    const options = { principal: 'local', runId: 'run_1', afterN, rewinds, signal: new AbortController().signal };
    const types: string[] = [];
    for await (const { event } of followRun(options, ports)) types.push(event.type);
    return types;
  };

  verifies('runs.rewind', 'only a reader of what is withdrawn is told', async () => {
    expect(await follow(0, true)).toEqual(['start', 'content', 'done']);
    expect(await follow(1, false)).toEqual(['content', 'done']);
    // The second event was shown before it was stored.
    expect(await follow(2, true)).toEqual(['rewind', 'content', 'done']);
    expect(await follow(100_004, true)).toEqual(['done']);
  });

  verifies('runs.rewind', 'a reader that cannot take back what it has gets an error', async () => {
    await expect(follow(2, false)).rejects.toMatchObject({ code: 'shutting_down' });
  });
});
