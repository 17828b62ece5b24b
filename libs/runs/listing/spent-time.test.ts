import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import { spentByRun, type TimedCall, type TimedRound, type TimedWait } from './spent-time.js';

const at = (second: number) => new Date(1_800_000_000_000 + second * 1_000);
const run = { createdAt: at(0), endedAt: at(100), now: at(200) };
const round = (number: number, from: number, to: number): TimedRound => ({
  round: number,
  startedAt: at(from),
  createdAt: at(to),
});
const call = (id: string, planned: number, begun: number | undefined, ended: number | undefined): TimedCall => ({
  id,
  round: 1,
  kind: 'server',
  plannedAt: at(planned),
  dispatchedAt: begun === undefined ? null : at(begun),
  endedAt: ended === undefined ? null : at(ended),
});
const wait = (callId: string, from: number, to: number | undefined): TimedWait => ({
  callId,
  createdAt: at(from),
  decidedAt: to === undefined ? null : at(to),
  expiresAt: at(500),
});

verifies('runs.spent-time', 'two rounds, and the slower of two calls', () => {
  const calls = [call('fast', 10, 11, 13), call('slow', 10, 12, 20)];
  const spent = spentByRun(run, [round(1, 0, 10), round(2, 20, 25)], calls, []);
  expect(spent).toEqual({ model: 15_000, queue: 2_000, tool: 8_000, person: 0 });
});

verifies('runs.spent-time', 'an approval before the call, a question within it', () => {
  const calls = [call('asked', 40, 42, 60)];
  const waits = [wait('asked', 10, 40), wait('asked', 45, 50)];
  const spent = spentByRun(run, [round(1, 0, 10)], calls, waits);
  expect(spent).toEqual({ model: 10_000, queue: 2_000, tool: 13_000, person: 35_000 });
});

verifies('runs.spent-time', 'a call that waits on after its turn, and one that never ran', () => {
  const parked = spentByRun(
    run,
    [round(1, 0, 10)],
    [call('parked', 10, undefined, undefined)],
    [wait('parked', 10, undefined)],
  );
  expect(parked).toEqual({ model: 10_000, queue: 0, tool: 0, person: 90_000 });
  const late = spentByRun(run, [round(1, 0, 10)], [call('late', 150, 151, 160)], [wait('late', 10, 150)]);
  expect(late).toEqual({ model: 10_000, queue: 0, tool: 0, person: 90_000 });
  expect(spentByRun({ ...run, endedAt: null }, [], [], [])).toEqual({ model: 0, queue: 0, tool: 0, person: 0 });
});

verifies('runs.spent-time', 'whatever the times are, no more than the run took', () => {
  const second = fc.integer({ min: 0, max: 300 });
  const maybe = fc.option(second, { nil: undefined });
  const ordered = fc
    .tuple(second, second, second)
    .map((each) => each.toSorted((one, other) => one - other) as [number, number, number]);
  fc.assert(
    fc.property(ordered, maybe, fc.array(fc.tuple(second, maybe), { maxLength: 1 }), ([a, b, c], ended, waits) => {
      const calls = [call('one', b, c, ended === undefined ? undefined : Math.max(ended, c))];
      const waited = waits.map(([from, to]) =>
        wait('one', Math.max(from, a), to === undefined ? to : Math.max(from, to)),
      );
      const spent = spentByRun(run, [round(1, 0, a)], calls, waited);
      for (const part of Object.values(spent)) expect(part).toBeGreaterThanOrEqual(0);
      const sum = Object.values(spent).reduce((total, part) => total + part, 0);
      expect(sum).toBeLessThanOrEqual(100_000);
    }),
  );
});
