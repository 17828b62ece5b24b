// JSON Schema taken apart for families that take less than all of it: local references found, several schemas made one.
// Pure; whatever cannot be kept is widened, never narrowed, so that what was valid stays valid.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';

/** What a local `$ref` (`#/$defs/x`) leads to, its siblings beside it; undefined when it leads nowhere. */
export function followRef(schema: JsonObject, root: JsonObject): JsonObject | undefined {
  const { $ref: ref, ...siblings } = schema;
  if (typeof ref !== 'string' || !/^#(?:\/|$)/.test(ref)) return undefined;
  let found: Json | undefined = root;
  for (const token of ref.split('/').slice(1)) {
    const key = unescape(token);
    found = isJsonObject(found) || Array.isArray(found) ? (found as JsonObject)[key] : undefined;
  }
  return isJsonObject(found) ? { ...found, ...siblings } : undefined;
}

function unescape(token: string): string {
  const plain = token.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}

/** What all of them say; of two members that disagree the first is kept, which widens. */
export function allOf(schemas: readonly JsonObject[]): JsonObject {
  const merged: JsonObject = {};
  for (const schema of schemas) {
    for (const [key, value] of Object.entries(schema)) {
      const before = merged[key];
      if (key === 'required') merged[key] = [...new Set([...list(before), ...list(value)])];
      else if (key === 'properties') merged[key] = mergedProperties(before, value);
      else merged[key] ??= value;
    }
  }
  return merged;
}

/** An object that satisfies any of them: every member that one knows, required what all require. */
export function anyOf(schemas: readonly JsonObject[]): JsonObject {
  const properties: JsonObject = {};
  for (const schema of schemas) {
    const own = isJsonObject(schema['properties']) ? schema['properties'] : {};
    for (const [name, value] of Object.entries(own)) {
      const before = Object.hasOwn(properties, name) ? properties[name]! : undefined;
      define(properties, name, before === undefined || same(before, value) ? value : { anyOf: [before, value] });
    }
  }
  const [first = [], ...others] = schemas.map((schema) => list(schema['required']));
  const required = first.filter((name) => others.every((names) => names.includes(name)));
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

const deepestTop = 32;

/** An object without reference or choice at its top, which is all that arguments may be; below it nothing is changed. */
export function objectAtTop(schema: JsonObject): JsonObject {
  const { $schema: _, ...top } = flatTop(schema, schema, 0);
  const definitions = ['$defs', 'definitions'].filter((key) => schema[key] !== undefined);
  return { ...Object.fromEntries(definitions.map((key) => [key, schema[key]!])), ...top, type: 'object' };
}

function flatTop(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  if (depth > deepestTop) return {};
  const target = followRef(schema, root);
  if (target !== undefined) return flatTop(target, root, depth + 1);
  const { anyOf: any, oneOf: one, allOf: all, not: _, ...own } = schema;
  const flat = (branches: Json | undefined) =>
    Array.isArray(branches) ? branches.filter(isJsonObject).map((branch) => flatTop(branch, root, depth + 1)) : [];
  const choices = [any, one].map(flat).filter((branches) => branches.length > 0);
  if (choices.length === 0 && all === undefined) return own;
  return allOf([own, ...flat(all), ...choices.map((branches) => anyOf(branches))]);
}

function mergedProperties(before: Json | undefined, value: Json): JsonObject {
  const merged: JsonObject = {};
  for (const properties of [before, value]) {
    if (!isJsonObject(properties)) continue;
    for (const [name, schema] of Object.entries(properties)) {
      const known = Object.hasOwn(merged, name) ? merged[name] : undefined;
      define(merged, name, isJsonObject(known) && isJsonObject(schema) ? allOf([known, schema]) : (known ?? schema));
    }
  }
  return merged;
}

/** A property may be called `__proto__`. */
export function define(target: JsonObject, name: string, value: Json): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

export const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
const same = (left: Json, right: Json) => JSON.stringify(left) === JSON.stringify(right);
