import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { KnownSessions } from './known-sessions.js';
import type { StoredSession } from './session-store.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const session = (id: string): StoredSession => ({
  principal: 'local',
  id,
  directory: id,
  createdAt: new Date(),
  usedAt: new Date(),
  expiresAt: new Date(),
  metadata: {},
});

test('thousands of sessions, a few at a time: only those of the last seconds are remembered', () => {
  const known = new KnownSessions(5_000);
  for (let number = 0; number < 5_000; number += 1) {
    known.set(`s${number}`, session(`s${number}`));
    vi.advanceTimersByTime(100);
    expect(known.size).toBeLessThanOrEqual(50);
  }
  expect(known.get('s4999')?.id).toBe('s4999');
  expect(known.get('s4000')).toBeUndefined();
});

test('one in use stays while others come and go, and is written again in time', () => {
  const known = new KnownSessions(5_000);
  known.set('a', session('a'));
  vi.advanceTimersByTime(4_000);
  known.set('b', session('b'));
  expect(known.get('a')?.id).toBe('a');
  vi.advanceTimersByTime(1_000);
  expect(known.get('a')).toBeUndefined();
  known.set('a', session('a'));
  expect(known.get('a')?.id).toBe('a');
  known.delete('a');
  expect(known.get('a')).toBeUndefined();
});

test('of one moment ten thousand at most', () => {
  const known = new KnownSessions(5_000);
  for (let number = 0; number < 10_010; number += 1) known.set(`s${number}`, session('s'));
  expect(known.size).toBe(10_000);
  expect(known.get('s9')).toBeUndefined();
  expect(known.get('s10')).toBeDefined();
});
