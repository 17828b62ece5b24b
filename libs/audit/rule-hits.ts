// How many calls each rule of the policy decided, by the audit, and when it did last. By an index that has nothing else: the rows are
// not read.
import type { Database } from '#libs/postgres/open-database.js';

export interface RuleHits {
  rule: string;
  /** Calls of the time that was asked for; at most `maxHits` are counted. */
  hits: number;
  lastAt: Date;
}

/** A rule with more hits than this is one with many: the rest is not counted. */
export const maxHits = 100_000;
const maxNames = 20_000;

/** Walks from one name to the next, which an index finds at once, and counts the entries of each since then. */
const statement = `/* audit.rule-hits */
  with recursive names as (
    (select policy_rule as rule from audit_events where kind = 'tool_call' and policy_rule is not null
      order by policy_rule limit 1)
    union all
    select (select policy_rule from audit_events where kind = 'tool_call' and policy_rule > names.rule
      order by policy_rule limit 1) from names where names.rule is not null)
  select rule, counted.hits, latest.at as "lastAt" from (select rule from names where rule is not null limit ${maxNames}) as named
    cross join lateral (select count(*)::int as hits from (
      select 1 from audit_events where kind = 'tool_call' and policy_rule = rule and at >= $1 limit ${maxHits}) as found) as counted
    cross join lateral (select at from audit_events where kind = 'tool_call' and policy_rule = rule
      order by at desc limit 1) as latest`;

/** Those of every rule that the audit names, in force or not. @throws AppError store_unavailable */
export const ruleHits = (database: Pick<Database, 'query'>, since: Date): Promise<RuleHits[]> =>
  database.query<RuleHits>(statement, [since]);
