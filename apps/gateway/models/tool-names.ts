// One reversible, deterministic mapping between the tool names that callers know and those that a provider takes
// (providers: tool definitions). A name that the provider takes already never changes.
import { createHash } from 'node:crypto';

export interface ToolNames {
  toWire(name: string): string;
  /** A name that nobody offered comes back as it is. */
  fromWire(name: string): string;
}

export interface ToolNameRule {
  valid: RegExp;
  /** One character that must be replaced; global. */
  forbidden: RegExp;
  maxLength: number;
}

/** `^[A-Za-z0-9_-]{1,64}$` */
export const openAiToolNames: ToolNameRule = {
  valid: /^[A-Za-z0-9_-]{1,64}$/,
  forbidden: /[^A-Za-z0-9_-]/g,
  maxLength: 64,
};

const unchanged: ToolNames = { toWire: (name) => name, fromWire: (name) => name };

/** `names`: every name of the request, offered or in its history; their order does not matter. */
export function mapToolNames(names: Iterable<string>, rule: ToolNameRule = openAiToolNames): ToolNames {
  const taken = new Set<string>();
  const strange = new Set<string>();
  for (const name of names) (rule.valid.test(name) ? taken : strange).add(name);
  if (strange.size === 0) return unchanged;

  const wished = new Map<string, number>();
  for (const name of strange) {
    const wish = cleaned(name, rule);
    wished.set(wish, (wished.get(wish) ?? 0) + 1);
  }
  const wire = new Map<string, string>();
  const back = new Map<string, string>();
  for (const name of strange) {
    const wish = cleaned(name, rule);
    const clear = rule.valid.test(wish) && !taken.has(wish) && wished.get(wish) === 1;
    const given = clear ? wish : withSuffix(name, wish, rule);
    wire.set(name, given);
    back.set(given, name);
  }
  return {
    toWire: (name) => wire.get(name) ?? name,
    fromWire: (name) => back.get(name) ?? name,
  };
}

const cleaned = (name: string, rule: ToolNameRule) => name.replace(rule.forbidden, '_');

function withSuffix(name: string, wish: string, rule: ToolNameRule): string {
  const suffix = `_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
  const stem = wish.slice(0, rule.maxLength - suffix.length);
  return `${rule.valid.test(stem + suffix) ? stem : `t${stem.slice(1)}`}${suffix}`;
}
