// Explains a decision: every rule up to the one that decides, and why the others do not match. Also works with incomplete
// information (a past call, of which the audit keeps only a part), and then names what is missing.
import type { JsonObject } from '#libs/schemas/json.js';
import { type CompiledPolicy, type CompiledRule, effectOn } from './compile-policy.js';
import { type JudgedCaller, judgedKinds, type JudgedTool, type PolicyDecision } from './decision.js';

export interface AskedCall {
  tool: JudgedTool;
  /** Undefined if unknown. */
  args: JsonObject | undefined;
  /** `roles` is undefined if unknown. */
  caller: Omit<JudgedCaller, 'roles'> & { roles: readonly string[] | undefined };
}

export interface TriedRule {
  rule: string;
  matched: boolean;
  /** Why the rule does not match. */
  because?: string;
  /** What it does not match by. */
  differs?: 'tool' | 'caller' | 'arguments';
}

export interface Explanation {
  tried: TriedRule[];
  /** Undefined if it cannot be determined. */
  decision?: PolicyDecision;
  missing?: string;
}

export function explain(policy: CompiledPolicy, call: AskedCall): Explanation {
  const tried: TriedRule[] = [];
  for (const rule of policy.rules) {
    const missing = whatIsMissing(rule, call);
    if (missing !== undefined) return { tried, missing: `the rule '${rule.name}' depends on ${missing}` };
    const differs = whyNot(rule, call);
    if (differs === undefined) {
      const { name, reason } = rule;
      const effect = effectOn(call.tool, rule);
      tried.push({ rule: name, matched: true });
      return { tried, decision: { effect, rule: name, ...(reason === undefined ? {} : { reason }) } };
    }
    tried.push({ rule: rule.name, matched: false, ...differs });
  }
  return { tried, decision: policy.defaultFor(call.tool, call.args) };
}

/** The decision of `explain` without what was tried: for many calls. */
export function decideAsKnown(policy: CompiledPolicy, call: AskedCall): Pick<Explanation, 'decision' | 'missing'> {
  for (const rule of policy.rulesOfTool(call.tool)) {
    const missing = whatIsMissing(rule, call);
    if (missing !== undefined) return { missing: `the rule '${rule.name}' depends on ${missing}` };
    if (whyNot(rule, call) !== undefined) continue;
    const { name, reason } = rule;
    return { decision: { effect: effectOn(call.tool, rule), rule: name, ...(reason === undefined ? {} : { reason }) } };
  }
  return { decision: policy.defaultFor(call.tool, call.args) };
}

/** Undefined also if the rule cannot match anyway. */
function whatIsMissing(rule: CompiledRule, { tool, args, caller }: AskedCall): string | undefined {
  const needsRoles = caller.roles === undefined && rule.source.role !== undefined;
  const roles = needsRoles ? [rule.source.role!].flat() : (caller.roles ?? []);
  if (!rule.isForTool(tool) || !rule.isForCaller({ ...caller, roles })) return undefined;
  if (needsRoles) return 'the roles of the caller';
  return args === undefined && rule.conditions.length > 0 ? 'the arguments' : undefined;
}

type Difference = Required<Pick<TriedRule, 'because' | 'differs'>>;

function whyNot(rule: CompiledRule, { tool, args, caller }: AskedCall): Difference | undefined {
  const { source } = rule;
  if (!rule.isForTool(tool)) return { because: whatFor(source), differs: 'tool' };
  if (!rule.isForCaller({ ...caller, roles: caller.roles ?? [] })) {
    const who = (['role', 'user', 'key'] as const).filter((kind) => source[kind] !== undefined);
    const named = who.map((kind) => `the ${kind} ${list(source[kind])}`).join(' and ');
    return { because: `it is for ${named}`, differs: 'caller' };
  }
  for (const condition of rule.conditions) {
    const failure = condition.failure(args ?? {});
    if (failure !== undefined) return { because: failure, differs: 'arguments' };
  }
  return undefined;
}

function whatFor(rule: CompiledRule['source']): string {
  const named = judgedKinds.filter((kind) => rule[kind] !== undefined);
  return `it is for ${named.map((kind) => `the ${kind} ${list(rule[kind])}`).join(' and ')}`;
}

const list = (names: string | readonly string[] | undefined): string => [names ?? []].flat().join(' or ');
