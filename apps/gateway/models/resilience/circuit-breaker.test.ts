import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { CircuitBreaker, type CircuitPass, type CircuitState } from './circuit-breaker.js';

function circuit(failures = 2) {
  const states: CircuitState[] = [];
  const clock = { ms: 1_000 };
  const breaker = new CircuitBreaker(
    { failures, coolDownMs: 5_000 },
    (state) => states.push(state),
    () => clock.ms,
  );
  const pass = () => breaker.enter() as CircuitPass;
  return { breaker, pass, states, clock };
}

verifies('models.circuit', 'failures in a row open it, any success between them does not', () => {
  const { breaker, pass, states, clock } = circuit();
  pass().failed();
  pass().succeeded();
  pass().failed();
  pass().left();
  expect(states).toEqual([]);
  pass().failed();
  expect(states).toEqual(['open']);
  expect(breaker.enter()).toBe(5);
  clock.ms += 4_100;
  expect(breaker.enter()).toBe(1);
});

verifies('models.circuit', 'after the cool-down one call tries, and decides', () => {
  const { breaker, pass, states, clock } = circuit(1);
  pass().failed();
  clock.ms += 5_000;
  const first = pass();
  expect(breaker.enter()).toBe(1);
  first.left();
  const second = pass();
  expect(breaker.enter()).toBe(1);
  second.failed();
  second.succeeded();
  expect(breaker.enter()).toBe(5);
  clock.ms += 5_000;
  pass().succeeded();
  pass().left();
  expect(states).toEqual(['open', 'half_open', 'open', 'half_open', 'closed']);
});

verifies('models.circuit', 'calls that were under way when it opened', () => {
  const { breaker, pass, states, clock } = circuit(1);
  const [slow, slower, good] = [pass(), pass(), pass()];
  slow.failed();
  clock.ms += 3_000;
  slower.failed();
  // A late failure does not extend the time that it stays open.
  expect(breaker.enter()).toBe(2);
  good.succeeded();
  expect(states).toEqual(['open', 'closed']);
  expect(breaker.enter()).toBeTypeOf('object');
});
