// Reads usage: reports for people, and the spending of budgets. Days are UTC, by the database's clock.
import type { Database } from '#libs/postgres/open-database.js';
import { storedText } from '#libs/postgres/stored-text.js';
import { AppError } from '#libs/schemas/errors.js';

export const usageGroups = ['key', 'model', 'tool', 'day'] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageQuery {
  by: readonly UsageGroup[];
  /** Absent: from the first of this month on. */
  since: Date | undefined;
  /** Only days that begin before this; absent: until now. */
  until: Date | undefined;
  /** Absent: everybody. */
  principal: string | undefined;
}

export interface UsageSum {
  requests: number;
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost_usd: number;
}

export type UsageRow = Partial<Record<UsageGroup, string | null>> & UsageSum;

export interface Spender {
  keyId: string | undefined;
  principal: string;
}

export interface Spent {
  dayNanoUsd: number;
  monthNanoUsd: number;
  dayLeftMs: number;
  monthLeftMs: number;
}

const maxRows = 10_000;
const maxUsedTools = 200_000;

const columns: Readonly<Record<UsageGroup, string>> = {
  key: `nullif(key_id, '') as key`,
  model: `nullif(model, '') as model`,
  tool: `nullif(tool, '') as tool`,
  day: `day::text as day`,
};
const sums = `sum(requests)::float8 as requests, sum(calls)::float8 as calls, sum(prompt_tokens)::float8 as prompt_tokens,
  sum(completion_tokens)::float8 as completion_tokens, sum(cost_nano_usd)::float8 / 1e9 as cost_usd`;

/** Includes the keys that a key has replaced. */
const spentStatement = `/* usage.spent */
  with asked as (select * from unnest($1::text[], $2::text[]) with ordinality as asked (key_id, principal, place)),
  today as (select (now() at time zone 'UTC')::date as day, date_trunc('month', now() at time zone 'UTC')::date as month),
  spent as (
    select place, sum(used.cost_nano_usd) filter (where used.day = today.day) as day_spent,
      sum(used.cost_nano_usd) as month_spent
    from today, asked cross join lateral (
      with recursive line (id) as (
        select asked.key_id
        union select api_keys.id from line join api_keys on api_keys.replaced_by = line.id where asked.key_id <> '')
      select id from line) as line
    join usage_days as used on used.key_id = line.id
    where used.day >= today.month and (line.id <> '' or used.principal = asked.principal)
    group by place)
  select coalesce(day_spent, 0)::float8 as "dayNanoUsd", coalesce(month_spent, 0)::float8 as "monthNanoUsd",
    extract(epoch from (today.day + 1)::timestamp - now() at time zone 'UTC')::float8 * 1000 as "dayLeftMs",
    extract(epoch from (today.month + interval '1 month') - now() at time zone 'UTC')::float8 * 1000 as "monthLeftMs"
  from asked cross join today left join spent using (place) order by place`;

export class UsageStore {
  constructor(private readonly database: Pick<Database, 'query'>) {}

  /** @throws AppError invalid_value for more rows than an answer may have; store_unavailable */
  async report({ by, since, until, principal }: UsageQuery): Promise<{ data: UsageRow[]; total: UsageSum }> {
    const where = `from usage_days
      where day >= coalesce($1::timestamptz at time zone 'UTC', date_trunc('month', now() at time zone 'UTC'))::date
        and day < coalesce($2::timestamptz, now()) at time zone 'UTC' and ($3::text is null or principal = $3)`;
    const parameters = [since ?? null, until ?? null, principal === undefined ? null : storedText(principal)];
    const groups = usageGroups.filter((group) => by.includes(group));
    const places = groups.map((_, index) => index + 1).join(', ');
    const grouped = `/* usage.${['by', ...groups].join('-')} */ select ${groups.map((group) => `${columns[group]}, `).join('')}${sums}
      ${where} ${groups.length === 0 ? 'having count(*) > 0' : `group by ${places} order by ${places}`} limit ${maxRows + 1}`;
    const data = await this.database.query<UsageRow>(grouped, parameters);
    if (data.length > maxRows) {
      throw new AppError('invalid_value', `More than ${maxRows} rows: choose a shorter time or fewer groups`, {
        param: 'by',
      });
    }
    const total: UsageSum = { requests: 0, calls: 0, prompt_tokens: 0, completion_tokens: 0, cost_usd: 0 };
    for (const row of data) for (const name of sumNames) total[name] += row[name];
    total.cost_usd = Math.round(total.cost_usd * 1e9) / 1e9;
    return { data, total };
  }

  /** The calls of the last 30 days by `server/tool`, and how many failed. Without a principal everybody's. @throws AppError store_unavailable */
  async ofTools(principal?: string): Promise<Map<string, { calls: number; failures: number }>> {
    const rows = await this.database.query<{ tool: string; calls: number; failures: number }>(
      `/* usage.of-tools */
        select tool, sum(calls)::float8 as calls, sum(failures)::float8 as failures from usage_days
        where day > (now() at time zone 'UTC')::date - 30 and tool <> '' and ($1::text is null or principal = $1)
        group by tool limit ${maxRows}`,
      [principal === undefined ? null : storedText(principal)],
    );
    return new Map(rows.map(({ tool, calls, failures }) => [tool, { calls, failures }]));
  }

  /**
   * The tools (`server/tool`) that each key, or one that it replaces, called in the last days; '' for callers without a key.
   * @throws AppError store_unavailable
   */
  async usedTools(keyIds: readonly string[], days: number): Promise<Map<string, Set<string>>> {
    const rows = await this.database.query<{ key: string; tool: string }>(
      `/* usage.used-tools */
        with recursive line (id, key) as (
          select id, id from unnest($1::text[]) as asked (id)
          union select api_keys.id, line.key from line join api_keys on api_keys.replaced_by = line.id where line.id <> '')
        select distinct line.key, used.tool from line join usage_days as used on used.key_id = line.id
        where used.day > (now() at time zone 'UTC')::date - $2::int and used.tool <> '' and used.calls > 0
        limit ${maxUsedTools}`,
      [keyIds.map(storedText), days],
    );
    const used = new Map(keyIds.map((id) => [id, new Set<string>()]));
    for (const { key, tool } of rows) used.get(key)?.add(tool);
    return used;
  }

  /** The spending of each, in their order. @throws AppError store_unavailable */
  spent(spenders: readonly Spender[]): Promise<Spent[]> {
    return this.database.query<Spent>(spentStatement, [
      spenders.map(({ keyId }) => storedText(keyId ?? '')),
      spenders.map(({ principal }) => storedText(principal)),
    ]);
  }
}

const sumNames = ['requests', 'calls', 'prompt_tokens', 'completion_tokens', 'cost_usd'] as const;
