// Mends JSON Schemas in forms that neither our validation nor a model's provider accepts: those of older drafts, and mistakes
// of generators. Mends only what can mean one thing, and reports the rest. A schema that needs no
// change is returned as the same object.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { checkReferences, pointerTo, withoutIds } from './schema-references.js';

/** `problem`: why the schema cannot be mended, for the operator. */
export type MendedSchema = { schema: JsonObject } | { problem: string };

/** Takes the schema of a tool's arguments, of bounded depth. Drafts: https://json-schema.org/specification-links */
export function mendSchema(given: JsonObject): MendedSchema {
  try {
    const mended = mendNode(withoutIds(given), '#') as JsonObject;
    const { type } = mended;
    if (type !== undefined && ![type].flat().includes('object'))
      throw new Unmendable('#', 'is not the schema of an object');
    const problem = checkReferences(mended);
    if (problem !== undefined) return { problem };
    const { $schema, ...schema } = mended;
    // Mended schemas are 2020-12, which is assumed where a schema names no draft.
    return { schema: mended === given || typeof $schema !== 'string' ? mended : schema };
  } catch (error) {
    if (error instanceof Unmendable) return { problem: error.message };
    throw error;
  }
}

class Unmendable extends Error {
  constructor(at: string, what: string) {
    super(`${at} ${what}`.slice(0, 200));
  }
}

const nested = ['not', 'contains', 'propertyNames', 'if', 'then', 'else', 'unevaluatedProperties', 'unevaluatedItems'];
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'minContains'];
const numbers = ['minimum', 'maximum', 'multipleOf', 'maxContains', ...counts];
const values = new Set(['default', 'const', 'example', 'examples']);

function mendNode(given: Json, at: string): JsonObject | boolean {
  const node = asSchema(given, at);
  if (typeof node === 'boolean') return node;
  const made: JsonObject = { ...node };
  for (const [key, value] of Object.entries(node)) if (value === null && !values.has(key)) delete made[key];
  mendTexts(made, at);
  mendType(made, at);
  mendNumbers(made, at);
  mendRequired(made, at);
  mendEnum(made, at);
  mendItems(made, at);
  for (const key of nested) if (made[key] !== undefined) made[key] = mendNode(made[key], `${at}/${key}`);
  for (const key of lists) mendList(made, key, at);
  for (const key of maps) mendMap(made, key, at);
  mendClosing(made, at);
  mendNullable(made);
  return isSame(made, node) ? node : made;
}

/** Values in place of schemas: PHP writes an empty object as a list, and some generators write the type alone. */
function asSchema(given: Json, at: string): JsonObject | boolean {
  if (isJsonObject(given)) return given;
  const truth = truthOf(given);
  if (truth !== undefined) return truth;
  if (given === null || (Array.isArray(given) && given.length === 0)) return {};
  if (typeof given === 'string' && typeNames.has(given.toLowerCase())) return { type: given };
  throw new Unmendable(at, 'is not a schema');
}

const typeNames = new Map<string, string | undefined>([
  ...['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'].map((name) => [name, name] as const),
  ['any', undefined],
  ['', undefined],
  ['str', 'string'],
  ['text', 'string'],
  ['int', 'integer'],
  ['long', 'integer'],
  ['float', 'number'],
  ['double', 'number'],
  ['bool', 'boolean'],
  ['dict', 'object'],
  ['list', 'array'],
  ['none', 'null'],
]);

function mendType(made: JsonObject, at: string): void {
  const { type } = made;
  if (type === undefined) return;
  const given = [type].flat();
  const known = given.map((name) => {
    if (typeof name !== 'string' || !typeNames.has(name.toLowerCase())) {
      throw new Unmendable(at, `has the unknown type ${JSON.stringify(name)}`);
    }
    return typeNames.get(name.toLowerCase());
  });
  if (known.length === 0 || known.includes(undefined)) delete made['type'];
  else if (!Array.isArray(type)) made['type'] = known[0]!;
  else if (known.some((name, index) => name !== given[index])) made['type'] = [...new Set(known as string[])];
}

function mendTexts(made: JsonObject, at: string): void {
  for (const key of ['title', 'description', 'format', '$comment']) {
    if (made[key] !== undefined && typeof made[key] !== 'string') delete made[key];
  }
  for (const key of ['pattern', '$ref', '$anchor', '$id']) {
    if (made[key] !== undefined && typeof made[key] !== 'string')
      throw new Unmendable(at, `has a ${key} that is not a text`);
  }
}

function mendNumbers(made: JsonObject, at: string): void {
  for (const key of [...numbers, 'exclusiveMinimum', 'exclusiveMaximum']) {
    const value = made[key];
    if (typeof value !== 'string' || value.trim() === '' || !Number.isFinite(Number(value))) continue;
    made[key] = Number(value);
  }
  // Up to draft 4 these keywords told whether the bound beside them is excluded.
  for (const [exclusive, bound] of bounds) {
    const excludes = truthOf(made[exclusive]);
    if (excludes === undefined) continue;
    delete made[exclusive];
    if (!excludes || typeof made[bound] !== 'number') continue;
    made[exclusive] = made[bound];
    delete made[bound];
  }
  for (const key of [...numbers, 'exclusiveMinimum', 'exclusiveMaximum']) {
    if (made[key] !== undefined && typeof made[key] !== 'number')
      throw new Unmendable(at, `has a ${key} that is not a number`);
  }
  const unique = truthOf(made['uniqueItems']);
  if (unique !== undefined) made['uniqueItems'] = unique;
  else if (made['uniqueItems'] !== undefined)
    throw new Unmendable(at, 'has a uniqueItems that is neither true nor false');
}

const bounds = [
  ['exclusiveMinimum', 'minimum'],
  ['exclusiveMaximum', 'maximum'],
] as const;

/** Draft 3, and many generators since, mark the property itself as required. */
function mendRequired(made: JsonObject, at: string): void {
  const { required, properties } = made;
  if (truthOf(required) !== undefined) delete made['required'];
  else if (typeof required === 'string') made['required'] = [required];
  else if (Array.isArray(required)) {
    const names = [...new Set(required.filter((name) => typeof name === 'string'))];
    if (names.length < required.length) made['required'] = names;
  } else if (required !== undefined) throw new Unmendable(at, 'has a required that is not a list of names');
  if (!isJsonObject(properties)) return;
  const own = Object.entries(properties).filter(([, schema]) => isJsonObject(schema) && truthOf(schema['required']));
  if (own.length === 0) return;
  const listed = Array.isArray(made['required']) ? (made['required'] as string[]) : [];
  made['required'] = [...new Set([...listed, ...own.map(([name]) => name)])];
}

function mendEnum(made: JsonObject, at: string): void {
  const { enum: given } = made;
  if (given === undefined) return;
  if (!Array.isArray(given)) throw new Unmendable(at, 'has an enum that is not a list');
  const texts = new Set<string>();
  const kept = given.filter((value) => texts.size < texts.add(JSON.stringify(value)).size);
  if (kept.length === 0) delete made['enum'];
  else if (kept.length < given.length) made['enum'] = kept;
}

/** Until 2019 a list of `items` described the items one by one, and `additionalItems` those after them. */
function mendItems(made: JsonObject, at: string): void {
  const { items, additionalItems: rest } = made;
  if (Array.isArray(items)) {
    delete made['items'];
    delete made['additionalItems'];
    if (items.length > 0) made['prefixItems'] ??= items;
    if (items.length > 0 && rest !== undefined && rest !== null) made['items'] = rest;
  }
  if (made['items'] !== undefined) made['items'] = mendNode(made['items'], `${at}/items`);
}

function mendList(made: JsonObject, key: string, at: string): void {
  const given = made[key];
  if (given === undefined) return;
  const branches = isJsonObject(given) ? [given] : given;
  if (!Array.isArray(branches)) throw new Unmendable(at, `has ${key} that is not a list`);
  const mended = branches.map((one, index) => mendNode(one, `${at}/${key}/${index}`));
  if (mended.length === 0) delete made[key];
  else if (branches !== given || mended.some((one, index) => one !== branches[index])) made[key] = mended;
}

function mendMap(made: JsonObject, key: string, at: string): void {
  const given = made[key];
  if (given === undefined) return;
  if (Array.isArray(given) && given.length === 0) return void (made[key] = {});
  if (!isJsonObject(given)) throw new Unmendable(at, `has ${key} that are not an object`);
  const mended = Object.entries(given).map(
    ([name, schema]) => [name, mendNode(schema, `${at}/${key}/${pointerTo(name)}`)] as const,
  );
  if (mended.some(([name, schema]) => schema !== given[name])) made[key] = Object.fromEntries(mended);
}

function mendClosing(made: JsonObject, at: string): void {
  const key = 'additionalProperties';
  if (made[key] !== undefined) made[key] = mendNode(made[key], `${at}/${key}`);
  const { dependentRequired: dependent, dependencies } = made;
  if (dependent !== undefined && !isJsonObject(dependent))
    throw new Unmendable(at, 'has a dependentRequired that is not an object');
  if (dependencies !== undefined && !isJsonObject(dependencies))
    throw new Unmendable(at, 'has dependencies that are not an object');
}

/** `nullable` is OpenAPI's word. */
function mendNullable(made: JsonObject): void {
  const { nullable, ...rest } = made;
  if (nullable === undefined) return;
  delete made['nullable'];
  if (truthOf(nullable) !== true) return;
  const { type, enum: given, anyOf } = made;
  if (type !== undefined) made['type'] = [...new Set([type, 'null'].flat())];
  if (Array.isArray(given) && !given.includes(null)) made['enum'] = [...given, null];
  if (type !== undefined || given !== undefined) return;
  if (Array.isArray(anyOf)) made['anyOf'] = [...anyOf, { type: 'null' }];
  else if (['$ref', 'oneOf', 'allOf'].some((key) => made[key] !== undefined)) {
    for (const key of Object.keys(rest)) delete made[key];
    made['anyOf'] = [rest, { type: 'null' }];
  }
}

/** Some generators write booleans as text. */
function truthOf(value: Json | undefined): boolean | undefined {
  if (typeof value === 'boolean') return value;
  return value === 'true' ? true : value === 'false' ? false : undefined;
}

function isSame(made: JsonObject, given: JsonObject): boolean {
  const keys = Object.keys(made);
  return keys.length === Object.keys(given).length && keys.every((key) => made[key] === given[key]);
}
