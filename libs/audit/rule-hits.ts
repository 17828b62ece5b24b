// How many calls, and reads of resources and prompts, each rule of the policy decided, by the audit, and when it did last. By two indexes
// that have nothing else: the rows are not read.
import type { Database } from '#libs/postgres/open-database.js';
import { callRows, readRows } from './past-calls.js';

export interface RuleHits {
  rule: string;
  /** Those of the time that was asked for; at most `maxHits` calls and as many reads are counted. */
  hits: number;
  lastAt: Date;
}

/** A rule with more hits than this is one with many: the rest is not counted. */
export const maxHits = 100_000;
const maxNames = 20_000;

/** Walks from one name to the next, which an index finds at once, and counts the entries of each since then. */
const hitsOf = (rows: string) => `
  with recursive names as (
    (select policy_rule as rule from audit_events where ${rows} and policy_rule is not null
      order by policy_rule limit 1)
    union all
    select (select policy_rule from audit_events where ${rows} and policy_rule > names.rule
      order by policy_rule limit 1) from names where names.rule is not null)
  select rule, counted.hits, latest.at as "lastAt" from (select rule from names where rule is not null limit ${maxNames}) as named
    cross join lateral (select count(*)::int as hits from (
      select 1 from audit_events where ${rows} and policy_rule = rule and at >= $1 limit ${maxHits}) as found) as counted
    cross join lateral (select at from audit_events where ${rows} and policy_rule = rule
      order by at desc limit 1) as latest`;
const ofCalls = `/* audit.rule-hits */ ${hitsOf(callRows)}`;
const ofReads = `/* audit.rule-hits-of-reads */ ${hitsOf(readRows)}`;

/** Those of every rule that the audit names, in force or not. @throws AppError store_unavailable */
export async function ruleHits(database: Pick<Database, 'query'>, since: Date): Promise<RuleHits[]> {
  const found = await Promise.all([ofCalls, ofReads].map((statement) => database.query<RuleHits>(statement, [since])));
  const byRule = new Map<string, RuleHits>();
  for (const each of found.flat()) {
    const { hits = 0, lastAt = each.lastAt } = byRule.get(each.rule) ?? {};
    byRule.set(each.rule, {
      rule: each.rule,
      hits: hits + each.hits,
      lastAt: lastAt > each.lastAt ? lastAt : each.lastAt,
    });
  }
  return [...byRule.values()];
}
