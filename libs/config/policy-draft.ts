// Reads a draft of the policy, as a person writes it: `rules` and `default`, alone as in a file of their own, or below `policy` as in
// signalbox.yaml. A draft has no variables: the environment is not for those who only write to a gateway. A hostile text takes
// seconds, so this runs in a thread that can be ended.
import { z } from 'zod';
import type { ConfigProblem, TextPosition } from './config-error.js';
import { formatKey } from './config-error.js';
import { parseFile } from './files/parse-file.js';
import { problemsOf } from './problems-of.js';
import { policySchema } from './schemas/policy-schema.js';
import type { TextProblem } from '#libs/schemas/errors.js';
import type { PolicySource } from '#libs/policy/decision.js';

export type DraftRead = { policy: PolicySource['policy'] } | { problems: TextProblem[] };

export const maxDraftLength = 1024 * 1024;
const maxProblems = 50;
const draftSchema = z.object({ policy: policySchema });
const name = 'draft';

export function readPolicyDraft(text: string): DraftRead {
  if (text.length > maxDraftLength) {
    return { problems: [{ message: `The draft is longer than ${maxDraftLength} characters` }] };
  }
  const parsed = parseFile({ path: name, text });
  if (parsed.problems.length > 0) return { problems: parsed.problems.slice(0, maxProblems).map(shown) };
  const isBelow = 'policy' in parsed.tree;
  const found: ConfigProblem[] = [];
  const position = (path: readonly PropertyKey[]) => {
    const own = path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    return parsed.position(isBelow ? own : own.slice(1));
  };
  const problem = (path: (string | number)[], message: string) =>
    void found.push({ key: formatKey(path), message, at: position(path) });
  for (const key of ['rules', 'default'] as const) {
    if (isBelow && key in parsed.tree) problem(['policy'], `is set, and so is ${key} beside it: move it below policy`);
  }
  const policy = plain(isBelow ? parsed.tree['policy'] : parsed.tree, ['policy'], problem);
  if (typeof policy === 'object' && policy !== null && 'file' in policy) {
    problem(['policy', 'file'], 'cannot be in a draft: write the rules themselves');
  }
  const tree = { policy: policy ?? {} };
  const checked = draftSchema.safeParse(tree);
  if (!checked.success) {
    // The place of each problem travels as the origin of its key.
    const places = new Map<string, TextPosition>();
    const originOf = (path: readonly PropertyKey[]) => {
      const at = position(path);
      const origin = at === undefined ? undefined : `${at.line}:${at.column}`;
      if (origin !== undefined) places.set(origin, at!);
      return origin;
    };
    found.push(
      ...problemsOf(checked.error, tree, originOf).map((each) => ({ ...each, at: places.get(each.origin ?? '') })),
    );
  }
  return found.length > 0 || !checked.success
    ? { problems: found.slice(0, maxProblems).map(shown) }
    : { policy: { default: checked.data.policy.default, rules: checked.data.policy.rules } };
}

function shown({ key, message, at }: ConfigProblem): TextProblem {
  return { message, ...(key === name ? {} : { key: key.replace(/^policy\.(?=.)/, '') }), ...at };
}

/** The value with `$${` as `${`, which the file writes so; a variable is a problem. */
function plain(
  value: unknown,
  path: (string | number)[],
  problem: (path: (string | number)[], message: string) => void,
): unknown {
  if (typeof value === 'string') {
    if (/(?<!\$)\$\{/.test(value)) problem(path, 'names a variable, which a draft cannot: write the value');
    return value.replaceAll('$${', '${');
  }
  if (Array.isArray(value)) return value.map((item, index) => plain(item, [...path, index], problem));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner, [...path, key], problem)]));
}
