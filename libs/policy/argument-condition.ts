// A condition on one argument. In doubt it is cautious: for a rule that allows, it holds only for unambiguous values; for a
// rule that denies or asks, it holds if the value could be read that way. Patterns run in linear time.
import { RE2JS } from 're2js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { parseArgumentPath, readArgument } from './argument-path.js';

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
  /** Why the condition does not hold, without any part of the value; undefined if it holds. */
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

// The paths that a tool may derive from a text. Lexical only: links in a workspace are not followed. Isolation keeps tools
// inside their workspace, never a rule.
/** The form in which tools and models name a session's workspace. */
const workspacePrefix = /^\/mcp_workspaces\/[^/]+\//;
const encodedPart = /%(?:2e|2f|5c|00)/i;

/** Whether the path is unambiguous: no `..`, backslash, control character, or encoded form of these. */
function isPlainPath(text: string): boolean {
  if (/[\\\u0000-\u001f\u007f]/.test(text) || encodedPart.test(text)) return false;
  return !text.split('/').includes('..');
}

/** The text itself, and the result of resolving `.`, `..`, repeated or other slashes, and encoded characters. */
function pathForms(text: string): string[] {
  const decoded = decode(text);
  const resolved = [text, decoded].map(resolveDots);
  return [...new Set([text, ...resolved, ...resolved.map((path) => path.replace(workspacePrefix, ''))])];
}

function resolveDots(text: string): string {
  const kept: string[] = [];
  const parts = text.normalize('NFC').replaceAll('\\', '/').split('/');
  for (const part of parts) {
    if (part === '..') kept.pop();
    else if (part !== '.' && part !== '') kept.push(part);
  }
  const path = `${parts[0] === '' ? '/' : ''}${kept.join('/')}`;
  // A directory counts as inside itself: `secrets` is under `secrets/`.
  return path === '' || path.endsWith('/') ? path : `${path}/`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function prefixForm(prefix: string): string {
  const resolved = resolveDots(prefix);
  return prefix.endsWith('/') || prefix === '' ? resolved : resolved.slice(0, -1);
}
