// A reversible, deterministic mapping between callers' tool names and those that a provider accepts. A name that the
// provider accepts never changes.
import { createHash } from 'node:crypto';
import type { ModelRequest } from '../model-provider.js';

export interface ToolNames {
  toWire(name: string): string;
  /** Unknown names stay as they are. */
  fromWire(name: string): string;
}

export interface ToolNameRule {
  valid: RegExp;
  /** Matches one character to replace; global. */
  forbidden: RegExp;
  maxLength: number;
}

export const openAiToolNames: ToolNameRule = {
  valid: /^[A-Za-z0-9_-]{1,64}$/,
  forbidden: /[^A-Za-z0-9_-]/g,
  maxLength: 64,
};

/** As OpenAI's, but must not start with a digit or a dash. */
export const geminiToolNames: ToolNameRule = { ...openAiToolNames, valid: /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/ };

const unchanged: ToolNames = { toWire: (name) => name, fromWire: (name) => name };

/** `names`: every name of the request, offered or in its history, in any order. */
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

/** Every tool name of a request: offered, or called in its history. */
export function* namesIn(request: Pick<ModelRequest, 'tools' | 'messages'>): Iterable<string> {
  for (const tool of request.tools) yield tool.name;
  for (const message of request.messages) {
    if (message.role !== 'assistant') continue;
    for (const call of message.tool_calls ?? []) yield call.function.name;
  }
}

const cleaned = (name: string, rule: ToolNameRule) => name.replace(rule.forbidden, '_');

function withSuffix(name: string, wish: string, rule: ToolNameRule & { isFree: (given: string) => boolean }): string {
  for (let salt = ''; ; salt += '#') {
    const hash = createHash('sha256').update(name + salt);
    const suffix = `_${hash.digest('hex').slice(0, 8)}`;
    const stem = wish.slice(0, rule.maxLength - suffix.length);
    const given = `${rule.valid.test(stem + suffix) ? stem : `t${stem.slice(1)}`}${suffix}`;
    if (rule.isFree(given)) return given;
  }
}
