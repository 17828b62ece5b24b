// A condition on one argument. In doubt it is cautious: for a rule that allows, it holds only for unambiguous values; for a
// rule that denies or asks, it holds if the value could be read that way. Patterns run in linear time.
import { RE2JS } from 're2js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { parseArgumentPath, readArgument } from './argument-path.js';
import { isPlainPath, pathForms, prefixForm } from './path-forms.js';

type Scalar = string | number | boolean | null;

/** Exactly one of the tests is set. */
export interface ConditionSource {
  path: string;
  equals?: Scalar | undefined;
  in?: readonly Scalar[] | undefined;
  prefix?: string | undefined;
  regex?: string | undefined;
}

export interface Condition {
  /** Why it does not hold, without any part of the value; undefined if it holds. */
  failure(args: JsonObject): string | undefined;
  holds(args: JsonObject): boolean;
}

type Test = (value: Json) => boolean;

/** Longer texts would cost too much: they never match a rule that allows, and always match any other. */
export const maxMatchedLength = 64 * 1024;

/** @param allows whether the rule allows. @throws Error for an invalid path or pattern */
export function compileCondition(source: ConditionSource, allows: boolean): Condition {
  const path = parseArgumentPath(source.path);
  const { test, wanted } = compileTest(source, allows);
  return {
    holds(args) {
      const value = readArgument(args, path);
      return value !== undefined && test(value);
    },
    failure(args) {
      const value = readArgument(args, path);
      if (value === undefined) return `the argument ${source.path} is absent`;
      return test(value) ? undefined : `the argument ${source.path} ${wanted}`;
    },
  };
}

function compileTest(source: ConditionSource, allows: boolean): { test: Test; wanted: string } {
  if (source.prefix !== undefined) {
    return { test: ofTexts(prefixTest(source.prefix, allows)), wanted: `is not plainly under '${source.prefix}'` };
  }
  if (source.regex !== undefined) {
    const scope = allows ? 'as a whole' : 'anywhere';
    return { test: ofTexts(compilePattern(source.regex, allows)), wanted: `does not match the pattern ${scope}` };
  }
  const values = source.in ?? [source.equals ?? null];
  return { test: oneOf(values, allows), wanted: `is not ${values.map((value) => JSON.stringify(value)).join(' or ')}` };
}

const ofTexts =
  (test: (text: string) => boolean): Test =>
  (value) =>
    typeof value === 'string' && test(value);

/** Types must match too: the text "5" is not the number 5. */
function oneOf(values: readonly Scalar[], allows: boolean): Test {
  const wanted = new Set<Json>(values);
  if (allows) return (value) => wanted.has(value);
  for (const value of values) if (typeof value === 'string') wanted.add(value.normalize('NFC'));
  return (value) => wanted.has(value) || (typeof value === 'string' && wanted.has(value.normalize('NFC')));
}

function prefixTest(prefix: string, allows: boolean): (text: string) => boolean {
  if (allows) return (text) => text.startsWith(prefix) && isPlainPath(text);
  const wanted = prefixForm(prefix);
  return (text) => pathForms(text).some((form) => form.startsWith(prefix) || form.startsWith(wanted));
}

/** @throws Error for patterns that RE2 does not support: look-around, back references */
export function compilePattern(pattern: string, allows: boolean): (text: string) => boolean {
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern), allows ? 0 : RE2JS.DOTALL);
  if (allows) return (text) => text.length <= maxMatchedLength && compiled.matches(text);
  return (text) =>
    text.length > maxMatchedLength || compiled.matcher(text).find() || compiled.matcher(text.normalize('NFC')).find();
}
