// Translates a tool's JSON Schema for OpenAI: an object without alternatives at the top, and `items` in every array. A
// schema that needs no change is returned as the same object.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { define, objectAtTop } from '../conversation/schema-parts.js';

/** Deeper than any schema that the chat APIs and the catalog accept. */
const maxDepth = 64;
const refusedAtTop = ['$ref', 'anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const'];

export function toOpenAiSchema(schema: JsonObject): JsonObject {
  const isPlain = schema['type'] === 'object' && refusedAtTop.every((key) => schema[key] === undefined);
  if (isPlain) return withItems(schema, 0) as JsonObject;
  const { enum: _, const: __, ...top } = objectAtTop(schema);
  return withItems(top, 0) as JsonObject;
}

const nested = new Set(['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else']);
const lists = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const maps = new Set(['properties', '$defs', 'definitions', 'patternProperties']);

/** OpenAI refuses arrays without `items` ("array schema missing items"). */
function withItems(node: Json, depth: number): Json {
  if (!isJsonObject(node) || depth > maxDepth) return node;
  let made: JsonObject | undefined;
  for (const [key, value] of Object.entries(node)) {
    const kept = nested.has(key)
      ? withItems(value, depth + 1)
      : lists.has(key) && Array.isArray(value)
        ? changed(value, (one) => withItems(one, depth + 1))
        : maps.has(key) && isJsonObject(value)
          ? withMembers(value, depth + 1)
          : value;
    if (kept !== value) (made ??= { ...node })[key] = kept;
  }
  const isList = [node['type'] ?? []].flat().includes('array');
  return isList && node['items'] === undefined ? { ...(made ?? node), items: {} } : (made ?? node);
}

function withMembers(members: JsonObject, depth: number): JsonObject {
  let made: JsonObject | undefined;
  for (const [name, schema] of Object.entries(members)) {
    const kept = withItems(schema, depth);
    if (kept === schema) continue;
    made ??= { ...members };
    define(made, name, kept);
  }
  return made ?? members;
}

function changed(values: Json[], change: (value: Json) => Json): Json[] {
  const made = values.map(change);
  return made.every((value, at) => value === values[at]) ? values : made;
}
