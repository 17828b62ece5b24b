import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { someCall, someJob } from '#libs/testing/stored-rows.js';
import { Stopped, ToolCall, type StopReason } from './tool-call.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const times = { timeoutMs: 100, maxTimeoutMs: 250 };
let long: number;

function start(job: { timeoutMs: number; maxTimeoutMs: number }, fence?: string): ToolCall {
  long = 0;
  const listener = { onProgress: () => undefined, onLong: async () => void (long += 1) };
  const call = new ToolCall({ job: { ...someJob(someCall()), ...job }, redelivered: false }, listener);
  call.fence = fence;
  call.start();
  return call;
}

const reasonOf = ({ signal }: ToolCall): StopReason | undefined =>
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
  await answered.end();
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
  await claimed.end();
  const unclaimed = start({ timeoutMs: 5_000, maxTimeoutMs: 5_000 });
  await vi.advanceTimersByTimeAsync(999);
  expect(long).toBe(0);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(long).toBe(1);
  expect(unclaimed.signal.aborted).toBe(false);
  await unclaimed.end();
  expect(vi.getTimerCount()).toBe(0);
});
