import { expect } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import { verifies } from '../../../../test/verifies.js';
import { CallHistory } from './call-history.js';

const minute = 60_000;

function open() {
  const clock = { ms: Date.parse('2026-11-28T10:30:00Z') };
  const history = new CallHistory(() => clock.ms);
  const end = (members: Partial<Parameters<CallHistory['ended']>[0]> = {}) =>
    history.ended({
      provider: 'p',
      model: 'm',
      error: undefined,
      isCancelled: false,
      tookMs: 100,
      firstPartMs: undefined,
      ...members,
    });
  return { clock, history, end };
}

verifies('operations.models-health', 'figures of an hour and of a day, as the time goes', () => {
  const { clock, history, end } = open();
  end({ tookMs: 100, firstPartMs: 10 });
  end({ tookMs: 3_000 });
  end({ error: new AppError('model_timeout', 'It took too long'), tookMs: 9_000 });
  end({ isCancelled: true });
  const { lastHour, lastFailure, hours } = history.of('p');
  expect(lastHour).toMatchObject({ calls: 3, failed: 1, errors: [{ code: 'model_timeout', count: 1 }] });
  // To within a fifth, and without the time of the call that failed.
  expect(lastHour.p50Ms).toBeGreaterThanOrEqual(100);
  expect(lastHour.p50Ms).toBeLessThan(125);
  expect(lastHour.p95Ms).toBeGreaterThanOrEqual(3_000);
  expect(lastHour.p95Ms).toBeLessThan(3_700);
  expect(lastHour.firstPartP50Ms).toBeLessThan(13);
  expect(lastFailure).toMatchObject({ code: 'model_timeout', model: 'm', at: new Date('2026-11-28T10:30:00Z') });
  expect(hours.map(({ figures }) => figures.calls)).toEqual([...Array.from({ length: 23 }, () => 0), 3]);
  clock.ms += 61 * minute;
  end();
  expect(history.of('p').lastHour).toMatchObject({ calls: 1, failed: 0 });
  expect(history.of('p').lastDay).toMatchObject({ calls: 4, failed: 1 });
  expect(
    history
      .of('p')
      .hours.slice(-2)
      .map(({ figures }) => figures.calls),
  ).toEqual([3, 1]);
  clock.ms += 24 * 60 * minute;
  end();
  expect(history.of('p').lastDay).toMatchObject({ calls: 1, failed: 0, errors: [] });
  expect(history.of('p').lastFailure).toMatchObject({ code: 'model_timeout' });
  expect(history.of('other').lastDay).toMatchObject({ calls: 0, p95Ms: undefined });
});

verifies('operations.models-health', 'a refusal by an open circuit does not hide the failure that opened it', () => {
  const { history, end } = open();
  end({ error: new AppError('model_error', 'refused', { upstreamStatus: 401 }) });
  end({ error: new AppError('model_unavailable', 'not asked') });
  expect(history.of('p').lastFailure).toMatchObject({ code: 'model_error', upstreamStatus: 401 });
  expect(history.of('p').lastHour.failed).toBe(2);
});

verifies('operations.models-health', 'fallbacks belong to the lists that have both names next to each other', () => {
  const { clock, history } = open();
  history.fallback('a/m', 'b/m', new AppError('model_error', 'first'));
  clock.ms += minute;
  history.fallback('a/m', 'b/m', new AppError('model_timeout', 'second'));
  const taken = { from: 'a/m', to: 'b/m', count: 2, lastAt: new Date(clock.ms), code: 'model_timeout' };
  expect(history.fallbacks(['a/m', 'b/m', 'c/m'])).toMatchObject([taken]);
  expect(history.fallbacks(['a/m', 'c/m', 'b/m'])).toEqual([]);
  expect(history.fallbacks([])).toEqual([]);
});
