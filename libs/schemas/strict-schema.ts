// Checks whether a JSON Schema is in the subset that OpenAI accepts with `strict: true`; OpenAI rejects the whole
// request otherwise. Pure. Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
import { isJsonObject, type Json, type JsonObject } from './json.js';

const deepestObject = 10;
const mostProperties = 5_000;
const mostValues = 1_000;
/** Total characters of all property names, definition names and values. */
const mostCharacters = 120_000;
/** An enumeration with more values than this has a limit of characters of its own. */
const manyValues = 250;
const mostCharactersOfMany = 15_000;

const types = new Set(['string', 'number', 'boolean', 'integer', 'object', 'array', 'null']);
const formats = new Set(
  ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'], //
);
const words = ['type', 'description', 'title', 'enum', 'const', 'anyOf', '$defs', 'definitions'];
const ofObjects = ['properties', 'required', 'additionalProperties'];
const ofLists = ['items', 'minItems', 'maxItems'];
const ofStrings = ['pattern', 'format'];
const ofNumbers = ['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const known = new Set([...words, ...ofObjects, ...ofLists, ...ofStrings, ...ofNumbers]);

interface Count {
  root: JsonObject;
  properties: number;
  values: number;
  characters: number;
}

export function isStrictSchema(schema: JsonObject): boolean {
  if (schema['type'] !== 'object' || schema['anyOf'] !== undefined) return false;
  const { $schema: _, ...root } = schema;
  const count: Count = { root: schema, properties: 0, values: 0, characters: 0 };
  const fits = isStrict(root, count, 1);
  return fits && count.properties <= mostProperties && count.values <= mostValues && count.characters <= mostCharacters;
}

function isStrict(node: Json | undefined, count: Count, depth: number): boolean {
  if (!isJsonObject(node)) return false;
  if (node['$ref'] !== undefined) return Object.keys(node).length === 1 && leadsSomewhere(node['$ref'], count.root);
  if (Object.keys(node).some((key) => !known.has(key))) return false;
  const declared = [node['type'] ?? []].flat();
  if (declared.length === 0 && node['anyOf'] === undefined) return false;
  return (
    declared.every((type) => typeof type === 'string' && types.has(type)) &&
    (node['format'] === undefined || (typeof node['format'] === 'string' && formats.has(node['format']))) &&
    (!declared.includes('array') || isStrict(node['items'], count, depth)) &&
    (!declared.includes('object') || isStrictObject(node, count, depth)) &&
    (node['anyOf'] === undefined || areStrict(node['anyOf'], count, depth)) &&
    takesValues(node, count) &&
    ['$defs', 'definitions'].every((key) => node[key] === undefined || areMembers(node[key], count, 1))
  );
}

/** Every member is required, and no others are allowed. */
function isStrictObject(node: JsonObject, count: Count, depth: number): boolean {
  const { properties = {}, required = [], additionalProperties: more } = node;
  if (depth > deepestObject || more !== false || !isJsonObject(properties) || !Array.isArray(required)) return false;
  const names = Object.keys(properties);
  count.properties += names.length;
  const same = names.length === new Set(required).size && names.every((name) => required.includes(name));
  return same && areMembers(properties, count, depth + 1);
}

function areMembers(members: Json | undefined, count: Count, depth: number): boolean {
  if (!isJsonObject(members)) return false;
  return Object.entries(members).every(([name, schema]) => {
    count.characters += name.length;
    return isStrict(schema, count, depth);
  });
}

function areStrict(branches: Json, count: Count, depth: number): boolean {
  return Array.isArray(branches) && branches.length > 0 && branches.every((branch) => isStrict(branch, count, depth));
}

function takesValues(node: JsonObject, count: Count): boolean {
  const { enum: values, const: only } = node;
  if (values === undefined && only === undefined) return true;
  const given = values ?? [only!];
  if (!Array.isArray(given) || given.length === 0) return false;
  const characters = given.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
  count.values += values === undefined ? 0 : given.length;
  count.characters += characters;
  return given.length <= manyValues || characters <= mostCharactersOfMany;
}

function leadsSomewhere(ref: Json, root: JsonObject): boolean {
  if (ref === '#') return true;
  const match = typeof ref === 'string' ? /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(ref) : null;
  const definitions = match === null ? undefined : root[match[1]!];
  return isJsonObject(definitions) && Object.hasOwn(definitions, match![2]!);
}
