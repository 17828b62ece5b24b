// What is wrong with a value before it is sent, as far as a form can know. Patterns are not tried: one from a stranger could stop
// the page. The gateway checks everything.
import type { widgetStrings } from '../strings.js';
import { isObject, type Json, kindOf, resolved, type Schema } from './form-schema.js';

type Texts = (typeof widgetStrings)['en'];

/** By the path of the part: `members.0.name`; the whole value is ''. */
export type Problems = ReadonlyMap<string, string>;

export const pathOf = (path: string, name: string | number): string => (path === '' ? String(name) : `${path}.${name}`);

export function problemsOf(schema: Schema, value: Json | undefined, texts: Texts): Problems {
  const problems = new Map<string, string>();
  check(schema, value, '', 0);
  return problems;

  function check(given: Schema, part: Json | undefined, path: string, depth: number): void {
    const known = resolved(given, schema);
    const problem = part === undefined ? undefined : problemOf(known, part, texts, depth);
    if (problem !== undefined) problems.set(path, problem);
    const kind = kindOf(known, false, depth);
    if (kind.kind === 'object' && isObject(part)) {
      for (const name of known.required ?? []) {
        if (part[name] === undefined) problems.set(pathOf(path, name), texts.isMissing);
      }
      for (const [name, member] of kind.properties) check(member, part[name], pathOf(path, name), depth + 1);
    }
    if (kind.kind === 'list' && Array.isArray(part)) {
      part.forEach((entry, index) => check(kind.items, entry, pathOf(path, index), depth + 1));
    }
  }
}

function problemOf(schema: Schema, value: Json, texts: Texts, depth: number): string | undefined {
  const kind = kindOf(schema, false, depth);
  switch (kind.kind) {
    case 'choice':
      return kind.choices.some((each) => isSame(each.value, value)) ? undefined : texts.isNoChoice;
    case 'choices':
    case 'list':
      return Array.isArray(value)
        ? boundsOf(value.length, schema.minItems, schema.maxItems, texts, 'entries')
        : texts.isOther;
    case 'text':
    case 'secret':
      if (typeof value !== 'string') return texts.isOther;
      return boundsOf(Array.from(value).length, schema.minLength, schema.maxLength, texts, 'characters');
    case 'number':
    case 'integer':
      return numberProblem(schema, value, texts);
    case 'boolean':
      return typeof value === 'boolean' ? undefined : texts.isOther;
    case 'object':
      return isObject(value) ? undefined : texts.isNoObject;
    case 'json':
      return schema.type === 'object' && !isObject(value) ? texts.isNoObject : undefined;
  }
}

function numberProblem(schema: Schema, value: Json, texts: Texts): string | undefined {
  if (typeof value !== 'number') return texts.isNoNumber;
  if (schema.type === 'integer' && !Number.isInteger(value)) return texts.isNoInteger;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (minimum !== undefined && value < minimum) return texts.isTooSmall(minimum);
  if (maximum !== undefined && value > maximum) return texts.isTooLarge(maximum);
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return texts.isAbove(exclusiveMinimum);
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return texts.isBelow(exclusiveMaximum);
  return undefined;
}

function boundsOf(
  length: number,
  least: number | undefined,
  most: number | undefined,
  ...[texts, of]: [Texts, 'characters' | 'entries']
): string | undefined {
  if (least !== undefined && length < least) return (of === 'entries' ? texts.hasTooFew : texts.isTooShort)(least);
  if (most !== undefined && length > most) return (of === 'entries' ? texts.hasTooMany : texts.isTooLong)(most);
  return undefined;
}

export const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
