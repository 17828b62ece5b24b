// How much of a budget is used, and where its day or month ends at the present rate: plainly in proportion to the time that has passed.
// Days and months are UTC.

export type BudgetPeriod = 'day' | 'month';

export const budgetStates = ['none', 'within', 'would_run_out', 'used_up'] as const;

export interface BudgetUse {
  /** Null without a budget. */
  limit_usd: number | null;
  spent_usd: number;
  /** What will have been spent at the end. */
  forecast_usd: number;
  state: (typeof budgetStates)[number];
  /** ISO 8601; of a budget that `would_run_out`. */
  runs_out_at: string | null;
}

export interface Spending {
  period: BudgetPeriod;
  limitUsd: number | undefined;
  nanoUsd: number;
  /** When that much was spent: the clock of the database. */
  at: Date;
}

export function budgetUse({ period, limitUsd, nanoUsd, at }: Spending): BudgetUse {
  const { begin, end } = boundsOf(period, at);
  const spent = nanoUsd / 1e9;
  const passedMs = at.getTime() - begin;
  // In the first moment there is no rate yet.
  const forecast = passedMs > 0 ? (spent * (end - begin)) / passedMs : spent;
  const use = { spent_usd: spent, forecast_usd: Math.round(forecast * 1e9) / 1e9, runs_out_at: null };
  if (limitUsd === undefined) return { ...use, limit_usd: null, state: 'none' };
  if (spent >= limitUsd) return { ...use, limit_usd: limitUsd, state: 'used_up' };
  if (forecast < limitUsd) return { ...use, limit_usd: limitUsd, state: 'within' };
  const runsOut = new Date(Math.min(end, begin + (passedMs * limitUsd) / spent));
  return { ...use, limit_usd: limitUsd, state: 'would_run_out', runs_out_at: runsOut.toISOString() };
}

function boundsOf(period: BudgetPeriod, at: Date): { begin: number; end: number } {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  return period === 'day'
    ? { begin: Date.UTC(year, month, day), end: Date.UTC(year, month, day + 1) }
    : { begin: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}
