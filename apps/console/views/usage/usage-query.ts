// Which usage the address asks for: the period, the group, what it is only of. Days are UTC.
import type { UsageFilters, UsageRow } from '@signalbox/client';
import type { Filters } from '../../widgets/lists/filters.js';

export const groups = ['model', 'key', 'principal', 'tool', 'day'] as const;
export type Group = (typeof groups)[number];

/** Groups that the usage can be only of. */
export const narrowing = ['key', 'principal', 'model', 'tool'] as const;
export type Narrowing = (typeof narrowing)[number];

export const usageNames = ['since', 'until', 'by', ...narrowing] as const;
export type UsageAddress = Filters<(typeof usageNames)[number]>;

export const periods = [7, 30, 90] as const;
export const usualPeriod = 30;
const mostDays = 1_000;
const dayMs = 86_400_000;

export interface UsagePeriod {
  /** The first day and the last one, `2026-11-24`. */
  first: string;
  last: string;
}

export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The first of so many days of which today is the last. */
export const daysAgo = (days: number): string => dayOf(Date.now() - (days - 1) * dayMs);

/** The API's `until`: the day after the last one. */
export const dayAfter = (day: string): string => dayOf(Date.parse(day) + dayMs);

/** Undefined if the address has something else than times there: the API says so. */
export function periodOf({ since, until }: UsageAddress): UsagePeriod | undefined {
  const first = since === undefined ? Date.parse(daysAgo(usualPeriod)) : Date.parse(since);
  const end = until === undefined ? Date.now() : Date.parse(until) - 1;
  return Number.isNaN(first) || Number.isNaN(end) ? undefined : { first: dayOf(first), last: dayOf(end) };
}

export const groupOf = ({ by }: UsageAddress): Group => groups.find((each) => each === by) ?? 'model';

export function filtersOf({ by: _by, since, ...address }: UsageAddress): UsageFilters {
  return { ...address, since: since ?? daysAgo(usualPeriod) };
}

/** Every day of the period, with its row if there is one. */
export function everyDay({ first, last }: UsagePeriod, rows: readonly UsageRow[]): { day: string; row?: UsageRow }[] {
  const known = new Map(rows.map((row) => [row.day, row]));
  const count = Math.min(mostDays, Math.max(0, Math.round((Date.parse(last) - Date.parse(first)) / dayMs) + 1));
  return Array.from({ length: count }, (_, index) => {
    const day = dayOf(Date.parse(first) + index * dayMs);
    const row = known.get(day);
    return row === undefined ? { day } : { day, row };
  });
}

/** The most expensive first; days newest first. */
export function inOrder(rows: readonly UsageRow[], group: Group): UsageRow[] {
  if (group === 'day') return rows.toReversed();
  const tokens = (row: UsageRow) => row.prompt_tokens + row.completion_tokens;
  return rows.toSorted(
    (one, other) =>
      other.cost_usd - one.cost_usd ||
      tokens(other) - tokens(one) ||
      other.requests + other.calls - one.requests - one.calls,
  );
}

/** The runs behind a row. Runs know their owner, not their key. */
export function runsBehind(
  row: UsageRow,
  group: Group,
  { first, last }: UsagePeriod,
): Record<string, string> | undefined {
  const times = (from: string, to: string) => ({
    since: `${from}T00:00:00.000Z`,
    until: `${dayAfter(to)}T00:00:00.000Z`,
  });
  if (group === 'day') return row.day === undefined ? undefined : times(row.day, row.day);
  const owner = group === 'key' ? row.key_owner : row[group];
  if (owner === null || owner === undefined) return undefined;
  return { ...times(first, last), [group === 'key' ? 'principal' : group]: owner };
}
