import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deadline } from './deadline.js';
import { steadyNow } from './steady-now.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a deadline moves by its pauses, and overlapping ones count once', () => {
  const at = steadyNow() + 1_000;
  const deadline = new Deadline(at);
  vi.advanceTimersByTime(100);
  expect([deadline.at, deadline.pausedMs]).toEqual([at, 0]);
  const first = deadline.pause();
  vi.advanceTimersByTime(30);
  const second = deadline.pause();
  vi.advanceTimersByTime(20);
  expect([deadline.at, deadline.pausedMs]).toEqual([at + 50, 50]);
  first();
  first();
  vi.advanceTimersByTime(10);
  second();
  vi.advanceTimersByTime(500);
  expect([deadline.at, deadline.pausedMs]).toEqual([at + 60, 60]);
  deadline.pause();
  vi.advanceTimersByTime(5);
  expect(deadline.pausedMs).toBe(65);
});
