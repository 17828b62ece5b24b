// Shows the policy in force with how often each rule decided, and drafts a rule for a call that needed an approval.
import { basename } from 'node:path';
import type { RuleHits } from '#libs/audit/rule-hits.js';
import { printPolicy } from '#libs/config/printing/print-policy.js';
import type { PolicySource } from '#libs/policy/decision.js';
import type { CompiledPolicy } from '#libs/policy/compile-policy.js';
import { narrowRule } from '#libs/policy/narrow-rule.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Wait } from '#libs/waits/wait.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { draftedRule, policyInForce } from '../openapi/policy-shapes.js';

type ShownPolicy = Shown<typeof policyInForce>;

interface InForce {
  policy: CompiledPolicy;
  source: PolicySource;
}

const maxOthers = 200;

export function showPolicy(
  { policy, source }: InForce,
  hits: readonly RuleHits[],
  since: Date,
  configFile: string,
): ShownPolicy {
  const byName = new Map(hits.map((each) => [each.rule, each]));
  const used = (rule: string) => {
    const found = byName.get(rule);
    return { hits: found?.hits ?? 0, last_hit_at: found?.lastAt.toISOString() ?? null };
  };
  const own = source.policy.rules.length;
  const rules = policy.rules.map(({ source: rule, name }, index) => ({
    ...rule,
    server: index < own ? null : serverOf([rule.tool ?? []].flat()[0] ?? ''),
    ...used(name),
  }));
  const inForce = new Set(policy.rules.map(({ name }) => name));
  const named = (isShown: (rule: string) => boolean) =>
    hits
      .filter(({ rule }) => !inForce.has(rule) && isShown(rule))
      .slice(0, maxOthers)
      .map(({ rule }) => ({ rule, ...used(rule) }));
  return {
    source: sourceOf(source, configFile),
    default: source.policy.default,
    rules,
    defaults: named(isDefault),
    others: named((rule) => !isDefault(rule)),
    since: since.toISOString(),
    text: textOf(source, source.policy.rules),
  };
}

/** @throws AppError invalid_value if no rule could have allowed the call */
export function draftRule(
  { source }: InForce,
  wait: Pick<Wait, 'kind' | 'rule' | 'principal' | 'server' | 'tool' | 'arguments'>,
): Shown<typeof draftedRule> {
  const why =
    wait.kind !== 'approval'
      ? 'This is no approval of a call'
      : wait.rule === 'request'
        ? 'The request itself asked for the approval: no rule changes that'
        : undefined;
  if (why !== undefined) throw new AppError('invalid_value', why, { param: 'approval_id' });
  const { rules } = source.policy;
  const { rule, leftOut } = narrowRule(wait, new Set(rules.map(({ name }) => name)));
  const at = rules.findIndex(({ name }) => name === wait.rule);
  const place = at < 0 ? rules.length : at;
  return {
    policy: textOf(source, rules.toSpliced(place, 0, rule)),
    rule,
    before: rules[place]?.name ?? null,
    left_out: leftOut,
  };
}

const isDefault = (rule: string): boolean => rule === 'default' || rule.startsWith('default:');

const serverOf = (tool: string): string => tool.slice(0, tool.indexOf('/'));

function sourceOf({ policy: { file } }: PolicySource, configFile: string): ShownPolicy['source'] {
  return file === undefined ? { kind: 'config', name: basename(configFile) } : { kind: 'file', name: basename(file) };
}

const textOf = ({ policy }: PolicySource, rules: PolicySource['policy']['rules']): string =>
  printPolicy({ default: policy.default, rules }, policy.file === undefined);
