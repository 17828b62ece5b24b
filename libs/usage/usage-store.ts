// Reads usage: reports for people, and the spending of budgets. Days are UTC, by the database's clock.
import type { Database } from '#libs/postgres/open-database.js';
import { storedText } from '#libs/postgres/stored-text.js';
import { AppError } from '#libs/schemas/errors.js';

export const usageGroups = ['key', 'principal', 'model', 'tool', 'day'] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageQuery {
  by: readonly UsageGroup[];
  /** Absent: from the first of this month on. */
  since: Date | undefined;
  /** Only days that begin before this; absent: until now. */
  until: Date | undefined;
  /** Absent: everybody. */
  principal: string | undefined;
  key?: string | undefined;
  model?: string | undefined;
  tool?: string | undefined;
}

export interface UsageSum {
  requests: number;
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost_usd: number;
  /** Tokens of models without a price: what they cost is not in `cost_usd`. */
  unpriced_tokens: number;
}

/** Rows of keys name their owner. */
export type UsageRow = Partial<Record<UsageGroup | 'key_owner' | 'key_name', string | null>> & UsageSum;

export interface Spender {
  keyId: string | undefined;
  principal: string;
}

export interface Spent {
  dayNanoUsd: number;
  monthNanoUsd: number;
  dayLeftMs: number;
  monthLeftMs: number;
  /** When that was so, by the clock of the database: epoch ms. */
  atMs: number;
}

/** Who has a budget, and what is spent of it. */
export interface BudgetedSpender extends Pick<Spent, 'dayNanoUsd' | 'monthNanoUsd' | 'atMs'> {
  /** Null for a caller without a key. */
  key: string | null;
  principal: string;
  name: string | null;
  prefix: string | null;
  dayUsd: number | null;
  monthUsd: number | null;
  /** The larger of the used shares of its budgets. */
  share: number;
}

export interface BudgetsQuery {
  /** The budget of who has none of their own. */
  settings: { day_usd?: number | undefined; month_usd?: number | undefined };
  /** Absent: everybody. */
  principal: string | undefined;
  limit: number;
  /** The last one of the page before. */
  after: { share: number; id: string } | undefined;
}

const maxRows = 10_000;
const maxUsedTools = 200_000;

const columns: Readonly<Record<UsageGroup, string>> = {
  key: `nullif(key_id, '') as key`,
  principal: 'principal',
  model: `nullif(model, '') as model`,
  tool: `nullif(tool, '') as tool`,
  day: `day::text as day`,
};
const sums = `sum(requests)::float8 as requests, sum(calls)::float8 as calls, sum(prompt_tokens)::float8 as prompt_tokens,
  sum(completion_tokens)::float8 as completion_tokens, sum(cost_nano_usd)::float8 / 1e9 as cost_usd,
  sum(unpriced_tokens)::float8 as unpriced_tokens`;

/** Includes the keys that a key has replaced, which have its owner. */
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
    join usage_days as used on used.key_id = line.id and used.principal = asked.principal
    where used.day >= today.month
    group by place)
  select coalesce(day_spent, 0)::float8 as "dayNanoUsd", coalesce(month_spent, 0)::float8 as "monthNanoUsd",
    extract(epoch from (today.day + 1)::timestamp - now() at time zone 'UTC')::float8 * 1000 as "dayLeftMs",
    extract(epoch from (today.month + interval '1 month') - now() at time zone 'UTC')::float8 * 1000 as "monthLeftMs",
    extract(epoch from now())::float8 * 1000 as "atMs"
  from asked cross join today left join spent using (place) order by place`;

/** Keys in force, and callers without a key who have spent something this month. */
const budgetedStatement = `/* usage.budgets */
  with recursive today as (select (now() at time zone 'UTC')::date as day, date_trunc('month', now() at time zone 'UTC')::date as month),
  used as (
    select key_id, case key_id when '' then principal else '' end as who,
      coalesce(sum(cost_nano_usd) filter (where usage_days.day = today.day), 0)::float8 as day_spent,
      sum(cost_nano_usd)::float8 as month_spent
    from usage_days, today where usage_days.day >= today.month group by 1, 2),
  held as (
    select id, owner, name, prefix, (budgets ->> 'day_usd')::float8 as day_usd, (budgets ->> 'month_usd')::float8 as month_usd
    from api_keys where revoked_at is null and (expires_at is null or expires_at > now()) and ($3::text is null or owner = $3)),
  line (head, id) as (
    select id, id from held
    union select line.head, before.id from line join api_keys as before on before.replaced_by = line.id),
  spent as (
    select head, sum(day_spent) as day_spent, sum(month_spent) as month_spent
    from line join used on used.key_id = line.id group by head),
  spenders as (
    select held.*, coalesce(day_spent, 0) as day_spent, coalesce(month_spent, 0) as month_spent
    from held left join spent on spent.head = held.id
    union all
    select null, who, null, null, null, null, day_spent, month_spent from used
    where key_id = '' and ($3::text is null or who = $3)),
  limited as (
    select coalesce(id, 'user:' || owner) as place, id as key, owner as principal, name, prefix, day_spent, month_spent,
      coalesce(day_usd, $1) as day_usd, coalesce(month_usd, $2) as month_usd from spenders),
  shared as (
    select *, greatest(case day_usd when 0 then 1 else day_spent / (day_usd * 1e9) end,
      case month_usd when 0 then 1 else month_spent / (month_usd * 1e9) end) as share
    from limited where day_usd is not null or month_usd is not null)
  select key, principal, name, prefix, day_spent as "dayNanoUsd", month_spent as "monthNanoUsd", day_usd as "dayUsd",
    month_usd as "monthUsd", share, extract(epoch from now())::float8 * 1000 as "atMs"
  from shared where $4::float8 is null or (share, place) < ($4, $5::text) order by share desc, place desc limit $6`;

export class UsageStore {
  constructor(private readonly database: Pick<Database, 'query'>) {}

  /** @throws AppError invalid_value for more rows than an answer may have; store_unavailable */
  async report({
    by,
    since,
    until,
    principal,
    key,
    model,
    tool,
  }: UsageQuery): Promise<{ data: UsageRow[]; total: UsageSum }> {
    const where = `from usage_days
      where day >= coalesce($1::timestamptz at time zone 'UTC', date_trunc('month', now() at time zone 'UTC'))::date
        and day < coalesce($2::timestamptz, now()) at time zone 'UTC' and ($3::text is null or principal = $3)
        and ($4::text is null or key_id = $4) and ($5::text is null or model = $5) and ($6::text is null or tool = $6)`;
    const named = [principal, key, model, tool].map((name) => (name === undefined ? null : storedText(name)));
    const parameters = [since ?? null, until ?? null, ...named];
    const groups = usageGroups.filter((group) => by.includes(group));
    const places = groups.map((_, index) => index + 1).join(', ');
    const grouped = `/* usage.${['by', ...groups].join('-')} */ select ${groups.map((group) => `${columns[group]}, `).join('')}${sums}
      ${where} ${groups.length === 0 ? 'having count(*) > 0' : `group by ${places} order by ${places}`} limit ${maxRows + 1}`;
    const ofKeys = `select rows.*, owner as key_owner, name as key_name from (${grouped}) as rows
      left join api_keys on api_keys.id = rows.key order by ${places || 1}`;
    const data = await this.database.query<UsageRow>(groups.includes('key') ? ofKeys : grouped, parameters);
    if (data.length > maxRows) {
      throw new AppError('invalid_value', `More than ${maxRows} rows: choose a shorter time or fewer groups`, {
        param: 'by',
      });
    }
    const total = Object.fromEntries(sumNames.map((name) => [name, 0])) as Record<(typeof sumNames)[number], number>;
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

  /** Who has a budget, the nearest to its end first. @throws AppError store_unavailable */
  budgeted({ settings, principal, limit, after }: BudgetsQuery): Promise<BudgetedSpender[]> {
    return this.database.query<BudgetedSpender>(budgetedStatement, [
      settings.day_usd ?? null,
      settings.month_usd ?? null,
      principal === undefined ? null : storedText(principal),
      after?.share ?? null,
      after === undefined ? null : storedText(after.id),
      limit,
    ]);
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

export const sumNames = [
  'requests',
  'calls',
  'prompt_tokens',
  'completion_tokens',
  'cost_usd',
  'unpriced_tokens',
] as const;
