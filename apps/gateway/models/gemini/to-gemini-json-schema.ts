// Reduces a JSON Schema to the part that newer Gemini models support (`parametersJsonSchema`), for schemas that the
// OpenAPI subset cannot express. Lists the keywords that it leaves out.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { allOf, define, list } from '../conversation/schema-parts.js';

const kept = new Set([
  '$anchor',
  '$id',
  'description',
  'enum',
  'format',
  'maxItems',
  'maximum',
  'minItems',
  'minimum',
  'required',
  'title',
  'type',
]);
const nested = new Set(['items', 'additionalProperties']);
const lists = new Set(['anyOf', 'prefixItems']);
const maps = new Set(['properties', '$defs']);
const silent = new Set(['$schema', '$comment', 'default', 'examples', 'example']);

export function toGeminiJsonSchema(schema: JsonObject): { schema: JsonObject; lost: string[] } {
  const lost = new Set<string>();
  return { schema: compile(schema, lost) as JsonObject, lost: [...lost].sort() };
}

/** Whether all references point to definitions, the only targets that Gemini supports. */
export function hasPlainReferences(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.every(hasPlainReferences);
  if (!isJsonObject(schema)) return true;
  return Object.entries(schema).every(([key, value]) =>
    key === '$ref'
      ? typeof value === 'string' && /^#\/(?:\$defs|definitions)\/[^/]+$/.test(value)
      : hasPlainReferences(value),
  );
}

function compile(node: Json, lost: Set<string>): Json {
  if (!isJsonObject(node)) return node === false ? false : {};
  const { $ref: ref } = node;
  // Gemini allows no other keywords beside a reference.
  if (typeof ref === 'string') {
    const definitions = compileMembers({ $defs: node['$defs'], definitions: node['definitions'] }, lost);
    return { $ref: ref.replace('#/definitions/', '#/$defs/'), ...definitions };
  }
  const { allOf: all, ...own } = node;
  const branches = list(all).filter(isJsonObject);
  const isPlain = branches.length > 0 && branches.every((branch) => branch['$ref'] === undefined);
  return compileMembers(isPlain ? allOf([own, ...branches]) : node, lost);
}

function compileMembers(node: Record<string, Json | undefined>, lost: Set<string>): JsonObject {
  const made: JsonObject = {};
  for (const [given, value] of Object.entries(node)) {
    const key = given === 'definitions' ? '$defs' : given;
    if (value === undefined || silent.has(key)) continue;
    if (kept.has(key)) made[key] = value;
    else if (key === 'const') made['enum'] = [value];
    // Widened branches may overlap, which `oneOf` would forbid.
    else if (key === 'oneOf') made['anyOf'] ??= list(value).map((one) => compile(one, lost));
    else if (key === 'items' && Array.isArray(value))
      made['prefixItems'] = list(value).map((one) => compile(one, lost));
    else if (nested.has(key)) made[key] = typeof value === 'boolean' ? value : compile(value, lost);
    else if (lists.has(key)) made[key] = list(value).map((one) => compile(one, lost));
    else if (maps.has(key) && isJsonObject(value)) made[key] = { ...(made[key] as JsonObject), ...toMap(value, lost) };
    else lost.add(key);
  }
  return made;
}

function toMap(members: JsonObject, lost: Set<string>): JsonObject {
  const made: JsonObject = {};
  for (const [name, schema] of Object.entries(members)) define(made, name, compile(schema, lost));
  return made;
}
