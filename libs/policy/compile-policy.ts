// Compiles the rules of a configuration into one function: the first matching rule decides, or else the default. The rules
// that can apply are cached per tool and caller, so that a call costs a lookup and its argument checks.
import type { PolicyRule } from '#libs/config/schemas/policy-schema.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { compileCondition, type Condition } from './argument-condition.js';
import { defaultDecision } from './default-decision.js';
import { compileToolGlob, type ToolGlob } from './tool-glob.js';
import {
  type Effect,
  type JudgedCaller,
  judgedKinds,
  type JudgedTool,
  type PolicyDecision,
  type PolicySource,
} from './decision.js';

type Judged = Pick<JudgedTool, 'kind' | 'server' | 'tool'>;

export interface CompiledRule {
  source: PolicyRule;
  name: string;
  effect: Effect;
  reason?: string;
  isForTool(tool: Judged): boolean;
  isForCaller(caller: JudgedCaller): boolean;
  /** All conditions must hold. */
  conditions: readonly Condition[];
}

/** Maximum cached pairs of tool and caller; beyond it the cache is cleared. */
const maxKept = 200_000;

export class CompiledPolicy {
  readonly rules: readonly CompiledRule[];
  /** Rules that name exactly one tool, by `server/tool`; all others are checked for every tool. */
  private readonly ofOneTool = new Map<string, number[]>();
  private readonly ofManyTools: number[] = [];
  private readonly ofTool = new Map<string, readonly CompiledRule[]>();
  private readonly reachable = new Map<string, Map<string, readonly CompiledRule[]>>();
  private kept = 0;

  /** @throws Error that names the rule; never for a configuration that passed validation */
  constructor(private readonly source: PolicySource) {
    this.rules = [...source.policy.rules, ...approvalRules(source.mcpServers)].map(compileRule);
    for (const [index, { source: rule }] of this.rules.entries()) {
      const tools = [rule.tool ?? []].flat();
      const others = rule.resource !== undefined || rule.prompt !== undefined;
      if (others || tools.length === 0 || tools.some((tool) => tool.includes('*'))) this.ofManyTools.push(index);
      else for (const tool of new Set(tools)) append(this.ofOneTool, tool, index);
    }
  }

  decide(tool: JudgedTool, args: JsonObject, caller: JudgedCaller): PolicyDecision {
    const rule = this.rulesFor(tool, caller).find(({ conditions }) => conditions.every((each) => each.holds(args)));
    if (rule === undefined) return this.defaultFor(tool, args);
    const { name, reason } = rule;
    const effect = effectOn(tool, rule);
    return reason === undefined ? { effect, rule: name } : { effect, rule: name, reason };
  }

  mayNeedApproval(tool: JudgedTool, caller: JudgedCaller): boolean {
    const rules = this.rulesFor(tool, caller);
    if (rules.some(({ effect }) => effect === 'require_approval')) return true;
    return rules.at(-1)?.conditions.length !== 0 && this.defaultFor(tool).effect === 'require_approval';
  }

  /** The decision if no rule matches. */
  defaultFor(tool: JudgedTool, args?: JsonObject): PolicyDecision {
    return defaultDecision(tool, this.source, args);
  }

  isDenied(tool: JudgedTool, caller: JudgedCaller): boolean {
    const rules = this.rulesFor(tool, caller);
    return rules.at(-1)?.conditions.length === 0 && rules.every((rule) => effectOn(tool, rule) === 'deny');
  }

  /** Whether calls with other arguments may be decided otherwise. */
  dependsOnArguments(tool: JudgedTool, caller: JudgedCaller): boolean {
    return (
      tool.readOnlyWhen !== undefined || this.rulesFor(tool, caller).some(({ conditions }) => conditions.length > 0)
    );
  }

  /** The rules that may decide a call, in order; one without conditions is the last. */
  private rulesFor(tool: JudgedTool, caller: JudgedCaller): readonly CompiledRule[] {
    const callerKey = callerKeyOf(caller);
    const toolKey = keyOf(tool);
    const known = this.reachable.get(callerKey)?.get(toolKey);
    if (known !== undefined) return known;
    if (this.kept >= maxKept) {
      this.reachable.clear();
      this.ofTool.clear();
      this.kept = 0;
    }
    this.kept += 1;
    const rules = upToUnconditional(this.rulesOfTool(tool).filter((rule) => rule.isForCaller(caller)));
    let ofCaller = this.reachable.get(callerKey);
    if (ofCaller === undefined) this.reachable.set(callerKey, (ofCaller = new Map()));
    ofCaller.set(toolKey, rules);
    return rules;
  }

  /** The rules for the tool, in order, for whatever caller and arguments. */
  rulesOfTool(tool: Judged): readonly CompiledRule[] {
    const key = keyOf(tool);
    const known = this.ofTool.get(key);
    if (known !== undefined) return known;
    const many = this.ofManyTools.filter((index) => this.rules[index]!.isForTool(tool));
    const indexes = [...(this.ofOneTool.get(key) ?? []), ...many].sort((left, right) => left - right);
    const rules = indexes.map((index) => this.rules[index]!);
    // Simulations judge as many resources as the audit has.
    if (this.ofTool.size >= maxKept) this.ofTool.clear();
    this.ofTool.set(key, rules);
    return rules;
  }
}

/** Resources and prompts have a space in front, which no name of a server has. */
const keyOf = ({ kind, server, tool }: Judged): string =>
  kind === undefined ? `${server}/${tool}` : ` ${kind} ${server}/${tool}`;

/** Nobody can approve that a resource is read or a prompt is used, so what needs an approval is denied. */
export const effectOn = ({ kind }: Judged, { effect }: CompiledRule): Effect =>
  kind !== undefined && effect === 'require_approval' ? 'deny' : effect;

/** Callers with equal keys are equal to every rule. */
export function callerKeyOf({ principal, keyId, roles = [] }: JudgedCaller): string {
  // All requests while no keys are configured.
  if (keyId === undefined && roles.length === 0) return principal;
  return JSON.stringify([principal, keyId ?? null, roles]);
}

function upToUnconditional(rules: readonly CompiledRule[]): readonly CompiledRule[] {
  const last = rules.findIndex(({ conditions }) => conditions.length === 0);
  return last < 0 ? rules : rules.slice(0, last + 1);
}

function append(map: Map<string, number[]>, key: string, index: number): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [index]);
  else known.push(index);
}

function compileRule(rule: PolicyRule): CompiledRule {
  try {
    const isForTool = matcherOf(rule);
    const roles = namesOf(rule.role);
    const users = namesOf(rule.user);
    const keys = namesOf(rule.key);
    return {
      source: rule,
      name: rule.name,
      effect: rule.effect,
      ...(rule.reason === undefined ? {} : { reason: rule.reason }),
      isForTool,
      isForCaller: (caller) =>
        (users === undefined || users.has(caller.principal)) &&
        (keys === undefined || (caller.keyId !== undefined && keys.has(caller.keyId))) &&
        (roles === undefined || (caller.roles ?? []).some((role) => roles.has(role))),
      conditions: (rule.arguments ?? []).map((condition) => compileCondition(condition, rule.effect === 'allow')),
    };
  } catch (error) {
    throw new Error(`the policy rule '${rule.name}' cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/** A rule that names nothing is for tools, resources and prompts alike. */
function matcherOf(rule: PolicyRule): CompiledRule['isForTool'] {
  const named = judgedKinds.filter((kind) => rule[kind] !== undefined);
  if (named.length === 0) return () => true;
  const globs = new Map<string, readonly ToolGlob[]>(
    named.map((kind) => [kind, [rule[kind] ?? []].flat().map(compileToolGlob)]),
  );
  return ({ kind = 'tool', server, tool }) => globs.get(kind)?.some((glob) => glob.matches(server, tool)) === true;
}

const namesOf = (names: string | readonly string[] | undefined): ReadonlySet<string> | undefined =>
  names === undefined ? undefined : new Set([names].flat());

/** `tools.requires_approval` of the servers, placed after all policy rules, which may therefore allow such calls. */
function approvalRules(servers: PolicySource['mcpServers']): PolicyRule[] {
  return Object.entries(servers).flatMap(([server, { tools }]) => {
    if (tools.requires_approval === undefined || tools.requires_approval.length === 0) return [];
    const rename = new Map(Object.entries(tools.rename ?? {}));
    const names = tools.requires_approval.map((own) => `${server}/${rename.get(own) ?? own}`);
    return [{ name: `mcpServers.${server}.tools.requires_approval`, tool: names, effect: 'require_approval' as const }];
  });
}
