// Reduces a JSON Schema to the part that Gemini supports (`parametersJsonSchema`, `responseJsonSchema`). Lists the keywords
// that are left out. The schema is widened, never narrowed: valid values stay valid.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { allOf, define, followRef, list } from '../conversation/schema-parts.js';

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

/** Inlined references can multiply. */
const mostInlined = 200;
const definition = /^#\/(?:\$defs|definitions)\/[^/]+$/;

interface Context {
  root: JsonObject;
  lost: Set<string>;
  inlined: number;
}

export function toGeminiSchema(schema: JsonObject): { schema: JsonObject; lost: string[] } {
  const context = { root: schema, lost: new Set<string>(), inlined: 0 };
  return { schema: compile(schema, context) as JsonObject, lost: [...context.lost].sort() };
}

function compile(node: Json, context: Context): Json {
  if (!isJsonObject(node)) return node === false ? false : {};
  const { $ref: ref } = node;
  if (typeof ref === 'string' && definition.test(ref)) {
    // Gemini allows no other keywords beside a reference.
    const definitions = compileMembers({ $defs: node['$defs'], definitions: node['definitions'] }, context);
    return { $ref: ref.replace('#/definitions/', '#/$defs/'), ...definitions };
  }
  if (ref !== undefined) {
    // Gemini knows references to definitions only.
    const target = followRef(node, context.root);
    context.inlined += 1;
    if (target !== undefined && context.inlined <= mostInlined) return compile(target, context);
    context.lost.add('$ref');
    return {};
  }
  const { allOf: all, ...own } = node;
  const branches = list(all).filter(isJsonObject);
  const isPlain = branches.length > 0 && branches.every((branch) => branch['$ref'] === undefined);
  return compileMembers(isPlain ? allOf([own, ...branches]) : node, context);
}

function compileMembers(node: Record<string, Json | undefined>, context: Context): JsonObject {
  const made: JsonObject = {};
  const isWhole = node['type'] === 'integer';
  for (const [given, value] of Object.entries(node)) {
    const key = given === 'definitions' ? '$defs' : given;
    if (value === undefined || silent.has(key)) continue;
    if (kept.has(key)) made[key] = value;
    else if (key === 'const') made['enum'] = [value];
    // For numbers, the bound itself becomes valid.
    else if (key === 'exclusiveMinimum' && typeof value === 'number')
      made['minimum'] ??= isWhole ? Math.floor(value) + 1 : value;
    else if (key === 'exclusiveMaximum' && typeof value === 'number')
      made['maximum'] ??= isWhole ? Math.ceil(value) - 1 : value;
    // Widened branches may overlap, which `oneOf` would forbid.
    else if (key === 'oneOf') made['anyOf'] ??= list(value).map((one) => compile(one, context));
    else if (key === 'items' && Array.isArray(value)) made['prefixItems'] = value.map((one) => compile(one, context));
    else if (nested.has(key)) made[key] = typeof value === 'boolean' ? value : compile(value, context);
    else if (lists.has(key)) made[key] = list(value).map((one) => compile(one, context));
    else if (maps.has(key) && isJsonObject(value))
      made[key] = { ...(made[key] as JsonObject), ...toMap(value, context) };
    else context.lost.add(key);
  }
  return made;
}

function toMap(members: JsonObject, context: Context): JsonObject {
  const made: JsonObject = {};
  for (const [name, schema] of Object.entries(members)) define(made, name, compile(schema, context));
  return made;
}
