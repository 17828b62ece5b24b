import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import type { CallEnd } from '#libs/runs/run-store.js';
import { verifies } from '../../../test/verifies.js';
import { OutcomeSpool } from './outcome-spool.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'spool-'));
});
afterEach(() => rm(directory, { recursive: true }));

const end = (callId: string): CallEnd => ({
  callId,
  fence: '7',
  worker: 'w1',
  requestId: 'req_1',
  outcome: { state: 'completed', blocks: [{ type: 'text', text: 'done' }], durationMs: 3 },
});

verifies('reliability.outcome-spool', 'kept over a restart, loaded once, bounded', async () => {
  const first = new OutcomeSpool(directory, 10_000, silentLogger);
  await first.open();
  await first.add(end('call_1'));
  await first.add(end('call_2'));

  const second = new OutcomeSpool(directory, 10_000, silentLogger);
  await second.open();
  expect(second.rows).toBe(2);
  const loaded: CallEnd[] = [];
  const away = second.load(() => Promise.reject(new Error('away')));
  await expect(away).rejects.toThrow('away');
  expect(second.rows).toBe(2);
  await second.load(async (each) => loaded.push(each) > 0);
  await second.load(async (each) => loaded.push(each) > 0);
  expect(loaded).toEqual([end('call_1'), end('call_2')]);
  expect(second.rows).toBe(0);
  expect(await readdir(directory)).toEqual([]);

  // A worker that shares the directory: what it adds is seen, counted and settled like what is one's own.
  await first.add(end('call_4'));
  expect([second.rows, second.has('call_4')]).toEqual([0, false]);
  await expect(second.load(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect([second.rows, second.has('call_4'), second.hasRoom(9_900)]).toEqual([1, true, false]);
  await second.load(async () => true);
  expect([second.rows, first.has('call_4')]).toEqual([0, true]);
  await first.load(() => Promise.reject(new Error('nothing is left')));
  expect(first.rows).toBe(0);

  const full = new OutcomeSpool(directory, 100, silentLogger);
  await full.open();
  await expect(full.add(end('call_3'))).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(await readdir(directory)).toEqual([]);
});
