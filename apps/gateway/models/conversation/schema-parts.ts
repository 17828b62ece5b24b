// Simplifies JSON Schemas for families that support only part of the standard: resolves local references, merges schemas.
// Pure. A rule that cannot be expressed is widened, never narrowed: valid values stay valid.
import { targetOf } from '#libs/json-schema/schema-references.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';

/** The target of a local `$ref` (`#/$defs/x`), merged with the reference's other keywords. Undefined if not found. */
export function followRef(schema: JsonObject, root: JsonObject): JsonObject | undefined {
  const { $ref: ref, ...siblings } = schema;
  const found = typeof ref === 'string' ? targetOf(ref, root) : undefined;
  return found === undefined ? undefined : { ...found, ...siblings };
}

/** Merges schemas that must all hold. If two disagree on a keyword, the first wins, which widens. */
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

/** Merges schemas of which one must hold: all properties, and as required only what all of them require. */
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

/** An object schema without a reference or alternatives at the top. Nothing below the top changes. */
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

/** Sets a property that may be called `__proto__`. */
export function define(target: JsonObject, name: string, value: Json): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

export const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
const same = (left: Json, right: Json) => JSON.stringify(left) === JSON.stringify(right);
