// Drafts the narrowest rule that allows one call: its caller, its tool, and every argument as it was. Whoever wants more widens the
// draft, and sees what that covers. Pure.
import { isSecretName } from '#libs/audit/secret-names.js';
import type { PolicyRule } from '#libs/config/schemas/policy-schema.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';

export interface CallToAllow {
  principal: string;
  server: string;
  tool: string;
  arguments: JsonObject;
}

type Condition = NonNullable<PolicyRule['arguments']>[number];

const maxConditions = 32;
const maxTextLength = 1_000;

/** `leftOut`: arguments that the rule cannot hold fast, so that it allows other values of them. */
export function narrowRule(call: CallToAllow, taken: ReadonlySet<string>): { rule: PolicyRule; leftOut: string[] } {
  const conditions: Condition[] = [];
  const leftOut: string[] = [];
  gather(call.arguments, '$', (path, value, name) => {
    const condition = conditionOf(path, value, name);
    if (condition === undefined || conditions.length === maxConditions) leftOut.push(path);
    else conditions.push(condition);
  });
  const rule: PolicyRule = {
    name: freeName(`allow-${call.tool}`, taken),
    user: call.principal,
    tool: `${call.server}/${call.tool}`,
    ...(conditions.length === 0 ? {} : { arguments: conditions }),
    effect: 'allow',
  };
  return { rule, leftOut };
}

function conditionOf(path: string, value: Json, name: string): Condition | undefined {
  if (isSecretName(name) || (typeof value === 'object' && value !== null)) return undefined;
  return typeof value === 'string' && value.length > maxTextLength ? undefined : { path, equals: value };
}

/** Calls `found` for every value that is no object or list with something in it. */
function gather(value: Json, path: string, found: (path: string, value: Json, name: string) => void, name = ''): void {
  if (typeof value !== 'object' || value === null) return found(path, value, name);
  const entries: [string, Json, string][] = Array.isArray(value)
    ? value.map((item, index) => [`${path}[${index}]`, item, name])
    : Object.entries(value).map(([key, inner]) => [stepTo(path, key), inner!, key]);
  if (entries.length === 0 && path !== '$') return found(path, value, name);
  for (const [inner, item, key] of entries) gather(item, inner, found, key);
}

const stepTo = (path: string, key: string): string =>
  /^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key) ? `${path}.${key}` : `${path}['${key}']`;

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  const base = wanted.replace(/[^A-Za-z0-9 ._-]/g, '-').slice(0, 58);
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(name)) return name;
  }
}
