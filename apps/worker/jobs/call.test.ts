import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { someCall, someJob } from '../../../test/support/stored-rows.js';
import type { Answer, Question } from '#libs/waits/question.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { silentLogger } from '#libs/logging/logger.js';
import { WorkerCall, Stopped, type StopReason } from './call.js';
import { failed } from './read-result.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const times = { timeoutMs: 100, maxTimeoutMs: 250 };
let long: number;

/** Settles what is asked. */
let answer: (answer: Answer) => void;
const asked: string[] = [];
const ask = (_call: WorkerCall, { message }: Question, signal: AbortSignal) => {
  asked.push(message);
  return new Promise<Answer>((resolve, reject) => {
    answer = resolve;
    signal.addEventListener('abort', () => reject(signal.reason));
  });
};

function start(job: Partial<ToolJob>, fence?: string): WorkerCall {
  long = 0;
  const claim = async () => ({ fence: String((long += 1)), attempt: 1 });
  const questions = { ask, sample: async () => ({ refused: 'not here' }) };
  const replies = { send: () => undefined };
  const parts = { workerId: 'worker-1', journal: { claim }, replies, questions, logger: silentLogger };
  const call = new WorkerCall({ job: { ...someJob(someCall()), ...job }, redelivered: false }, parts);
  call.fence = fence;
  call.start();
  return call;
}

const end = (call: WorkerCall): Promise<void> | undefined => call.end(failed('cancelled', 'The call was cancelled'));

const reasonOf = ({ signal }: WorkerCall): StopReason | undefined =>
  signal.reason instanceof Stopped ? signal.reason.reason : undefined;

test('its time is moved by progress, never past its maximum', async () => {
  const silent = start(times, '1');
  await vi.advanceTimersByTimeAsync(98);
  expect(silent.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(4);
  expect([reasonOf(silent), silent.limitMs]).toEqual(['tool_timeout', 100]);
  const busy = start(times, '1');
  for (let at = 0; at < 240; at += 60) {
    await vi.advanceTimersByTimeAsync(60);
    busy.onProgress({ progress: at });
    expect(busy.signal.aborted).toBe(false);
  }
  await vi.advanceTimersByTimeAsync(12);
  expect([reasonOf(busy), busy.limitMs]).toEqual(['tool_timeout', 250]);
});

test('a result ends its time, and the first reason to stop it stands', async () => {
  const answered = start(times, '1');
  answered.answered();
  answered.onProgress({ progress: 1 });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(answered.signal.aborted).toBe(false);
  await end(answered);
  const stopped = start(times, '1');
  stopped.stop('cancelled');
  await vi.advanceTimersByTimeAsync(200);
  expect(reasonOf(stopped)).toBe('cancelled');
  expect(vi.getTimerCount()).toBe(0);
});

test('one without a claim says once that it takes its time', async () => {
  const claimed = start({ timeoutMs: 5_000, maxTimeoutMs: 5_000 }, '1');
  await vi.advanceTimersByTimeAsync(2_000);
  expect(long).toBe(0);
  await end(claimed);
  const unclaimed = start({ timeoutMs: 5_000, maxTimeoutMs: 5_000 });
  await vi.advanceTimersByTimeAsync(999);
  expect(long).toBe(0);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(long).toBe(1);
  expect(unclaimed.signal.aborted).toBe(false);
  await end(unclaimed);
  expect(vi.getTimerCount()).toBe(0);
});

test('its time stands still while it asks, one question after the other', async () => {
  const call = start({ ...times, questions: { expiresMs: 1_000, notify: false } });
  await vi.advanceTimersByTimeAsync(60);
  const signal = new AbortController().signal;
  const answers = ['one', 'two'].map((message) => call.onQuestion!({ message, schema: {} }, signal));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(long).toBe(1);
  expect(asked.splice(0)).toEqual(['one']);
  answer({ action: 'decline' });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked.splice(0)).toEqual(['two']);
  expect(reasonOf(call)).toBeUndefined();
  answer({ action: 'cancel' });
  expect(await Promise.all(answers)).toEqual([{ action: 'decline' }, { action: 'cancel' }]);
  await vi.advanceTimersByTimeAsync(35);
  expect(reasonOf(call)).toBeUndefined();
  await vi.advanceTimersByTimeAsync(10);
  expect(reasonOf(call)).toBe('tool_timeout');
});

test('a question ends with its call; nobody is asked where the job does not say so', async () => {
  expect(start(times).onQuestion).toBeUndefined();
  const call = start({ ...times, questions: { expiresMs: 1_000, notify: false } }, '1');
  const waiting = call.onQuestion!({ message: 'still', schema: {} }, new AbortController().signal);
  const ended = expect(waiting).rejects.toBeInstanceOf(Stopped);
  await vi.advanceTimersByTimeAsync(0);
  await end(call);
  await ended;
  const many = Array.from({ length: 11 }, () => call.onQuestion!({ message: 'x', schema: {} }, AbortSignal.abort()));
  const settled = await Promise.allSettled(many);
  expect(settled.at(-1)).toMatchObject({ reason: { code: 'tool_failed' } });
});
