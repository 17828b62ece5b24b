import { expect, test } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import { isHandedOver, ActiveRuns, wasCancelled } from './active-runs.js';
import { forever } from '../../../../test/support/runnable-call.js';

function caller() {
  const gone = new AbortController();
  const context = { principal: 'local', requestId: 'req_1', signal: gone.signal, deadline: forever };
  return { ...context, abort: (reason: AppError) => gone.abort(reason) };
}

test('a run ends with its caller or when it is cancelled, and is under way until it is released', () => {
  const activeRuns = new ActiveRuns();
  const [leaving, waiting] = [caller(), caller()];
  const left = activeRuns.register('run_1', leaving, { detached: false });
  leaving.abort(new AppError('cancelled', 'The client has gone'));
  expect([left.signal.aborted, wasCancelled(left.signal)]).toEqual([true, false]);

  const stopped = activeRuns.register('run_2', waiting, { detached: false });
  expect(activeRuns.cancel('run_2')).toBe(true);
  expect([stopped.signal.aborted, wasCancelled(stopped.signal)]).toEqual([true, true]);
  stopped.release();
  expect([activeRuns.cancel('run_2'), activeRuns.isUnderWay('run_1'), activeRuns.isUnderWay('run_2')]).toEqual([
    false,
    true,
    false,
  ]);
});

test('a detached run outlives its caller and can be cancelled', () => {
  const activeRuns = new ActiveRuns();
  const leaving = caller();
  const run = activeRuns.register('run_1', leaving, { detached: true });
  leaving.abort(new AppError('cancelled', 'The client has gone'));
  expect(run.signal.aborted).toBe(false);
  activeRuns.cancel('run_1');
  expect(run.signal.aborted).toBe(true);
});

test('of a gateway that stops, detached runs and those with a key are handed over', () => {
  const activeRuns = new ActiveRuns();
  const runs = [
    activeRuns.register('run_1', caller(), { detached: false }),
    activeRuns.register('run_2', caller(), { detached: true }),
    activeRuns.register('run_3', caller(), { detached: false, idempotencyKey: 'k' }),
  ];
  activeRuns.stopAll();
  runs.push(activeRuns.register('run_4', caller(), { detached: true }));
  expect(runs.map(({ signal }) => [signal.aborted, isHandedOver(signal)])).toEqual([
    [true, false],
    [true, true],
    [true, true],
    [true, true],
  ]);
});
