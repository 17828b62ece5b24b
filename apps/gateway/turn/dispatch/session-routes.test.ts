import { expect, test } from 'vitest';
import { someCall, someJob } from '../../../../test/support/stored-rows.js';
import { SessionRoutes } from './session-routes.js';

const jobOf = (sessionId: string, stateful = true) => ({ ...someJob(someCall({ sessionId })), stateful });

test('the last worker of a session, while it is alive; sessions of shared tools have none', () => {
  const living = new Set(['w1', 'w2']);
  const routes = new SessionRoutes({ takesJobs: (worker) => living.has(worker) });
  expect(routes.of(jobOf('a'))).toBeUndefined();
  routes.remember(jobOf('a'), 'w1');
  expect(routes.of(jobOf('a'))).toBe('w1');
  expect(routes.of({ ...jobOf('a'), principal: 'other' })).toBeUndefined();
  routes.remember(jobOf('a'), 'w2');
  expect(routes.of(jobOf('a'))).toBe('w2');
  living.delete('w2');
  expect(routes.of(jobOf('a'))).toBeUndefined();
  expect(routes.size).toBe(0);
  routes.remember(jobOf('b', false), 'w1');
  expect(routes.size).toBe(0);
});

test('the least recently used go when there are too many', () => {
  const routes = new SessionRoutes({ takesJobs: () => true }, 3);
  for (const session of ['a', 'b', 'c']) routes.remember(jobOf(session), 'w1');
  routes.of(jobOf('a'));
  routes.remember(jobOf('d'), 'w1');
  expect(['a', 'b', 'c', 'd'].map((session) => routes.of(jobOf(session)))).toEqual(['w1', undefined, 'w1', 'w1']);
});
