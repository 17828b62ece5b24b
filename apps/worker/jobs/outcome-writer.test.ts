import { mkdtemp, mkdir, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PutBack } from '#libs/backing/job-queue.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { CallEnd, Journal } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { someCall, someJob } from '../../../test/support/stored-rows.js';
import { verifies } from '../../../test/verifies.js';
import { OutcomeSpool } from './outcome-spool.js';
import { OutcomeWriter } from './outcome-writer.js';
import { CallRunner, type CallRunnerParts } from './run-call.js';
import { RunningCalls } from './running-calls.js';

let directory: string;
let away: boolean;
let ends: CallEnd[];
/** The journal's one method that is used here: away, or writing. */
const journal = {
  end: async (end: CallEnd) => {
    if (away) throw new AppError('store_unavailable', 'The store is away');
    ends.push(end);
    return true;
  },
} as unknown as Journal;

beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), 'writer-')), 'spool');
  away = true;
  ends = [];
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const end = (callId: string): CallEnd => ({
  callId,
  fence: '7',
  requestId: 'req_1',
  outcome: { state: 'completed', blocks: [{ type: 'text', text: 'done' }], durationMs: 3 },
});

async function open(maxBytes: number): Promise<OutcomeWriter> {
  const spool = new OutcomeSpool(directory, maxBytes, silentLogger);
  const writer = new OutcomeWriter(journal, spool, silentLogger, 1_000);
  await writer.start();
  return writer;
}

const deliver = (outcomes: OutcomeWriter, callId: string) => {
  const pool = { server: () => undefined };
  const parts = { outcomes, pool, running: new RunningCalls(), workerId: 'w', journal, logger: silentLogger };
  const job = { ...someJob(someCall()), callId };
  return new CallRunner(parts as unknown as CallRunnerParts).run({ job, redelivered: true });
};

verifies('reliability.spool-full', 'no new call begins, what ended is kept until the store is back', async () => {
  const writer = await open(1_500);
  expect([writer.canKeep(0), writer.canKeep(1)]).toEqual([true, false]);
  expect(await writer.end(end('call_1'))).toBe('spooled');
  // Delivered again meanwhile: it has ended, nothing is to be judged.
  await deliver(writer, 'call_1');
  expect(await writer.end(end('call_2'))).toBe('spooled');
  for (let n = 3; writer.canKeep(0); n += 1) await writer.end(end(`call_${n}`));
  await expect(deliver(writer, 'call_new')).rejects.toThrow(PutBack);
  away = false;
  await expect.poll(() => writer.spool.rows, { timeout: 5_000 }).toBe(0);
  expect(writer.canKeep(0)).toBe(true);
  expect(ends.map(({ callId }) => callId).slice(0, 2)).toEqual(['call_1', 'call_2']);
  expect(await readdir(directory)).toEqual([]);
  await writer.close();
});

test('a disk that takes nothing: kept in memory, no new call begins, and it is tried again', async () => {
  const writer = await open(100_000);
  await rm(directory, { recursive: true });
  const ended = writer.end(end('call_1'));
  await expect.poll(() => writer.canKeep(0), { timeout: 5_000 }).toBe(false);
  away = false;
  expect(await ended).toBe('written');
  expect(ends).toHaveLength(1);
  // The store is back, the disk is not: the next outage would lose what ends in it.
  expect(writer.canKeep(0)).toBe(false);
  await mkdir(directory);
  await expect.poll(() => writer.canKeep(0), { timeout: 5_000 }).toBe(true);
  await writer.close();
});
