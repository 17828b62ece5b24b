import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { budgetUse } from './budget-use.js';

const at = new Date('2026-11-16T00:00:00Z');
const month = (limitUsd: number | undefined, usd: number, when = at) =>
  budgetUse({ period: 'month', limitUsd, nanoUsd: usd * 1e9, at: when });

verifies('limits.budget-forecast', 'in proportion to the time of the month or day that has passed', () => {
  const none = { spent_usd: 10, forecast_usd: 20, runs_out_at: null };
  expect(month(undefined, 10)).toEqual({ ...none, limit_usd: null, state: 'none' });
  expect(month(21, 10)).toEqual({ ...none, limit_usd: 21, state: 'within' });
  // Ten dollars in fifteen days are twelve in eighteen.
  expect(month(12, 10)).toEqual({
    ...none,
    limit_usd: 12,
    state: 'would_run_out',
    runs_out_at: '2026-11-19T00:00:00.000Z',
  });
  expect(month(20, 10).runs_out_at).toBe('2026-12-01T00:00:00.000Z');
  expect(month(10, 10)).toMatchObject({ state: 'used_up', runs_out_at: null });
  expect(month(0, 0)).toMatchObject({ state: 'used_up', forecast_usd: 0 });
  expect(month(5, 0)).toMatchObject({ state: 'within', forecast_usd: 0 });
  const day = budgetUse({ period: 'day', limitUsd: 3, nanoUsd: 1e9, at: new Date('2026-11-16T06:00:00Z') });
  expect(day).toMatchObject({ forecast_usd: 4, runs_out_at: '2026-11-16T18:00:00.000Z' });
});

verifies('limits.budget-forecast', 'at the edges of a month', () => {
  expect(month(5, 1, new Date('2026-11-01T00:00:00Z'))).toMatchObject({ state: 'within', forecast_usd: 1 });
  const last = month(5, 4, new Date('2026-12-31T23:59:59.999Z'));
  expect(last.state).toBe('within');
  expect(last.forecast_usd).toBeCloseTo(4, 6);
  // February has 28 days: a quarter of it has passed.
  expect(month(100, 7, new Date('2027-02-08T00:00:00Z')).forecast_usd).toBe(28);
});
