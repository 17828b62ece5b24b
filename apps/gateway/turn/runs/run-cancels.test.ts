import { expect, test } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import { isHandedOver, RunCancels, whenCancelled } from './run-cancels.js';
import { forever } from '../../../../test/support/runnable-call.js';

function caller() {
  const gone = new AbortController();
  const context = { principal: 'local', requestId: 'req_1', signal: gone.signal, deadline: forever };
  return { ...context, abort: (reason: AppError) => gone.abort(reason) };
}

test('a run ends with its caller or when it is cancelled, and is under way until it is released', () => {
  const cancels = new RunCancels();
  const [leaving, waiting] = [caller(), caller()];
  const left = cancels.register('run_1', leaving, { detached: false });
  leaving.abort(new AppError('cancelled', 'The client has gone'));
  expect([left.signal.aborted, whenCancelled(left.signal)]).toEqual([true, false]);

  const stopped = cancels.register('run_2', waiting, { detached: false });
  expect(cancels.cancel('run_2')).toBe(true);
  expect([stopped.signal.aborted, whenCancelled(stopped.signal)]).toEqual([true, true]);
  stopped.release();
  expect([cancels.cancel('run_2'), cancels.isUnderWay('run_1'), cancels.isUnderWay('run_2')]).toEqual([
    false,
    true,
    false,
  ]);
});

test('a detached run outlives its caller and can be cancelled', () => {
  const cancels = new RunCancels();
  const leaving = caller();
  const run = cancels.register('run_1', leaving, { detached: true });
  leaving.abort(new AppError('cancelled', 'The client has gone'));
  expect(run.signal.aborted).toBe(false);
  cancels.cancel('run_1');
  expect(run.signal.aborted).toBe(true);
});

test('of a gateway that stops, detached runs and those with a key are handed over', () => {
  const cancels = new RunCancels();
  const runs = [
    cancels.register('run_1', caller(), { detached: false }),
    cancels.register('run_2', caller(), { detached: true }),
    cancels.register('run_3', caller(), { detached: false, idempotencyKey: 'k' }),
  ];
  cancels.stopAll();
  runs.push(cancels.register('run_4', caller(), { detached: true }));
  expect(runs.map(({ signal }) => [signal.aborted, isHandedOver(signal)])).toEqual([
    [true, false],
    [true, true],
    [true, true],
    [true, true],
  ]);
});
