// A reversible, deterministic mapping between names and those that somebody else accepts: a model's provider, or a client. A
// name that is accepted never changes.
import { createHash } from 'node:crypto';

export interface NameMapping {
  toWire(name: string): string;
  /** Unknown names stay as they are. */
  fromWire(name: string): string;
}

export interface NameRule {
  valid: RegExp;
  /** Matches one character to replace; global. */
  forbidden: RegExp;
  maxLength: number;
}

/** The rule for tools at OpenAI, Anthropic and many more, and in Claude Desktop. */
export const strictNames: NameRule = {
  valid: /^[A-Za-z0-9_-]{1,64}$/,
  forbidden: /[^A-Za-z0-9_-]/g,
  maxLength: 64,
};

const unchanged: NameMapping = { toWire: (name) => name, fromWire: (name) => name };

/** `names`: all names, in any order. */
export function mapNames(names: Iterable<string>, rule: NameRule): NameMapping {
  const all = [...names];
  const isValid = (name: string) => rule.valid.test(name);
  if (all.every(isValid)) return unchanged;

  const taken = new Set(all.filter(isValid));
  const strange = new Set(all.filter((name) => !isValid(name)));
  const wished = new Map<string, number>();
  for (const name of strange) {
    const wish = cleaned(name, rule);
    wished.set(wish, (wished.get(wish) ?? 0) + 1);
  }
  const wire = new Map<string, string>();
  const back = new Map<string, string>();
  // Sorted, so that colliding suffixes do not depend on the order of the names.
  for (const name of [...strange].sort()) {
    const wish = cleaned(name, rule);
    const clear = rule.valid.test(wish) && !taken.has(wish) && wished.get(wish) === 1;
    const isFree = (given: string) => !taken.has(given) && !back.has(given) && !wished.has(given);
    const given = clear ? wish : withSuffix(name, wish, { ...rule, isFree });
    wire.set(name, given);
    back.set(given, name);
  }
  return {
    toWire: (name) => wire.get(name) ?? name,
    fromWire: (name) => back.get(name) ?? name,
  };
}

const cleaned = (name: string, rule: NameRule) => name.replace(rule.forbidden, '_');

function withSuffix(name: string, wish: string, rule: NameRule & { isFree: (given: string) => boolean }): string {
  for (let salt = ''; ; salt += '#') {
    const hash = createHash('sha256').update(name + salt);
    const suffix = `_${hash.digest('hex').slice(0, 8)}`;
    const stem = wish.slice(0, rule.maxLength - suffix.length);
    const given = `${rule.valid.test(stem + suffix) ? stem : `t${stem.slice(1)}`}${suffix}`;
    if (rule.isFree(given)) return given;
  }
}
