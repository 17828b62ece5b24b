// Why a policy decides as it does: every rule up to the one that decides, and what keeps the others from matching. Also
// where something is not known (a past call of which the audit kept no more): then it says what is missing.
import type { JsonObject } from '#libs/schemas/json.js';
import type { CompiledPolicy, CompiledRule } from './compile-policy.js';
import type { Caller, Decision, JudgedTool } from './decision.js';

export interface AskedCall {
  tool: JudgedTool;
  /** Undefined where they are not known. */
  args: JsonObject | undefined;
  /** Whose roles are undefined where they are not known. */
  caller: Omit<Caller, 'roles'> & { roles: readonly string[] | undefined };
}

export interface TriedRule {
  rule: string;
  matched: boolean;
  /** What keeps it from matching. */
  because?: string;
}

export interface Explanation {
  tried: TriedRule[];
  /** Undefined where it cannot be told. */
  decision?: Decision;
  /** What would have to be known. */
  missing?: string;
}

export function explain(policy: CompiledPolicy, call: AskedCall): Explanation {
  const tried: TriedRule[] = [];
  for (const rule of policy.rules) {
    const missing = whatIsMissing(rule, call);
    if (missing !== undefined) return { tried, missing: `the rule '${rule.name}' depends on ${missing}` };
    const because = whyNot(rule, call);
    if (because === undefined) {
      const { name, effect, reason } = rule;
      tried.push({ rule: name, matched: true });
      return { tried, decision: { effect, rule: name, ...(reason === undefined ? {} : { reason }) } };
    }
    tried.push({ rule: rule.name, matched: false, because });
  }
  return { tried, decision: policy.defaultFor(call.tool) };
}

/** Undefined also where the rule does not match whatever that is. */
function whatIsMissing(rule: CompiledRule, { tool, args, caller }: AskedCall): string | undefined {
  const needsRoles = caller.roles === undefined && rule.source.role !== undefined;
  const roles = needsRoles ? [rule.source.role!].flat() : (caller.roles ?? []);
  if (!rule.isForTool(tool) || !rule.isForCaller({ ...caller, roles })) return undefined;
  if (needsRoles) return 'the roles of the caller';
  return args === undefined && rule.conditions.length > 0 ? 'the arguments' : undefined;
}

function whyNot(rule: CompiledRule, { tool, args, caller }: AskedCall): string | undefined {
  const { source } = rule;
  if (!rule.isForTool(tool)) return `it is for the tool ${list(source.tool)}`;
  if (!rule.isForCaller({ ...caller, roles: caller.roles ?? [] })) {
    const who = (['role', 'user', 'key'] as const).filter((kind) => source[kind] !== undefined);
    return `it is for ${who.map((kind) => `the ${kind} ${list(source[kind])}`).join(' and ')}`;
  }
  for (const condition of rule.conditions) {
    const failure = condition.failure(args ?? {});
    if (failure !== undefined) return failure;
  }
  return undefined;
}

const list = (names: string | readonly string[] | undefined): string => [names ?? []].flat().join(' or ');
