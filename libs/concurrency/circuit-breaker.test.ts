import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { CircuitBreaker, CircuitBreakers, type CircuitState } from './circuit-breaker.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());
const later = (ms: number) => vi.advanceTimersByTime(ms);

function circuit(failures = 2) {
  const states: CircuitState[] = [];
  return { states, breaker: new CircuitBreaker({ failures, coolDownMs: 5_000 }, (state) => states.push(state)) };
}

verifies('models.circuit', 'failures in a row open it, any success between them does not', () => {
  const { breaker, states } = circuit();
  breaker.failed();
  breaker.succeeded();
  breaker.failed();
  breaker.left();
  expect(states).toEqual([]);
  breaker.failed();
  expect(states).toEqual(['open']);
  expect(breaker.enter()).toBe(5);
  later(4_100);
  expect(breaker.enter()).toBe(1);
});

verifies('models.circuit', 'after the cool-down one call tries, and decides', () => {
  const { breaker, states } = circuit(1);
  breaker.failed();
  later(5_000);
  expect(breaker.enter()).toBe(0);
  expect(breaker.enter()).toBe(1);
  breaker.left();
  expect(breaker.enter()).toBe(0);
  expect(breaker.enter()).toBe(1);
  breaker.failed();
  expect(breaker.enter()).toBe(5);
  later(5_000);
  expect(breaker.enter()).toBe(0);
  breaker.succeeded();
  breaker.left();
  expect(states).toEqual(['open', 'half_open', 'open', 'half_open', 'closed']);
});

verifies('models.circuit', 'calls that were under way when it opened', () => {
  const { breaker, states } = circuit(1);
  breaker.failed();
  later(3_000);
  // A late failure does not extend the time that it stays open.
  breaker.failed();
  expect(breaker.enter()).toBe(2);
  breaker.succeeded();
  expect(states).toEqual(['open', 'closed']);
  expect(breaker.enter()).toBe(0);
});

/** The number of retries granted to `calls` calls that each want up to `most`. */
function retriesOf(calls: number, breaker: CircuitBreaker, most = 2): number {
  let retries = 0;
  for (let call = 0; call < calls; call += 1) {
    breaker.enter();
    for (let retry = 0; retry < most && breaker.mayRetry(); retry += 1) retries += 1;
  }
  return retries;
}

verifies('models.retry-budget', 'a share of the calls and a reserve, which time refills; none while it is open', () => {
  const { breaker } = circuit(1);
  expect(retriesOf(1_000, breaker)).toBe(209);
  later(5_000);
  // Half the reserve, and what was left of one.
  expect(retriesOf(1, breaker, 100)).toBe(6);
  // Unused retries do not accumulate.
  later(3_600_000);
  expect(retriesOf(1, breaker, 100)).toBe(10);
  later(3_600_000);
  breaker.failed();
  expect(breaker.mayRetry()).toBe(false);
});

test('a bounded number of keys, each with its own', () => {
  const circuits = new CircuitBreakers({ failures: 2, coolDownMs: 5_000 }, 2);
  expect([circuits.failed('a'), circuits.failed('a'), circuits.failed('b')]).toEqual([false, true, false]);
  expect([circuits.mayTry('a'), circuits.mayTry('b')]).toEqual([false, true]);
  later(5_000);
  expect([circuits.mayTry('a'), circuits.mayTry('a')]).toEqual([true, false]);
  circuits.failed('c');
  expect(circuits.mayTry('a')).toBe(true);
});
