// A JSON Schema in the subset of OpenAPI that Gemini takes: references put in place, unions kept, everything else that
// it has no word for left out and named. What was valid stays valid: a schema is widened, never narrowed.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { allOf, define, followRef, list } from '../conversation/schema-parts.js';

export interface GeminiSchema {
  schema: JsonObject;
  /** Keywords that were left out. */
  lost: string[];
  /** Something was lost that Gemini's other form, JSON Schema, can say. */
  sayable: boolean;
}

const maxDepth = 24;
/** References put in place can multiply. */
const maxNodes = 2_000;
/** How often a reference may stand within itself. */
const maxTurns = 2;

interface Walk {
  root: JsonObject;
  lost: Set<string>;
  sayable: boolean;
  nodes: number;
  /** References on the way to here. */
  path: string[];
}

export function toGeminiSchema(schema: JsonObject): GeminiSchema {
  const walk: Walk = { root: schema, lost: new Set(), sayable: false, nodes: 0, path: [] };
  const compiled = compile(schema, walk);
  return { schema: compiled, lost: [...walk.lost].sort(), sayable: walk.sayable };
}

function compile(node: Json, walk: Walk): JsonObject {
  walk.nodes += 1;
  if (walk.path.length > maxDepth || walk.nodes > maxNodes) return anything('$ref', walk);
  if (!isJsonObject(node)) return anything(node === false ? 'false' : 'type', walk);
  const { $ref: ref } = node;
  if (typeof ref === 'string') {
    const target = followRef(node, walk.root);
    if (target === undefined || walk.path.filter((one) => one === ref).length >= maxTurns)
      return anything('$ref', walk);
    return within(ref, walk, () => compile(target, walk));
  }
  return within('', walk, () => compileOwn(node, walk));
}

function within(step: string, walk: Walk, work: () => JsonObject): JsonObject {
  walk.path.push(step);
  const made = work();
  walk.path.pop();
  return made;
}

function compileOwn(node: JsonObject, walk: Walk): JsonObject {
  const { allOf: all, anyOf: any, oneOf: one, ...own } = node;
  if (all !== undefined) {
    const branches = list(all).filter(isJsonObject);
    const found = branches.map((branch) => followRef(branch, walk.root) ?? branch);
    return compile(allOf([{ ...own, ...(any && { anyOf: any }), ...(one && { oneOf: one }) }, ...found]), walk);
  }
  const branches = list(any ?? one);
  const describes = branches.some(
    (branch) => isJsonObject(branch) && Object.keys(branch).some((key) => shaping.has(key)),
  );
  if (describes) return union(own, branches, walk);
  // `{"anyOf": [{"required": ["a"]}, …]}` beside an object says what no form of Gemini's can.
  if (branches.length > 0) walk.lost.add(any === undefined ? 'oneOf' : 'anyOf');
  const types = typesOf(own);
  if (types.length === 0) return withWords(anything('type', walk), own);
  const real = types.filter((type) => type !== 'null');
  const nullable = real.length < types.length || own['nullable'] === true || list(own['enum']).includes(null);
  const made = real.map((type) => withType(type, own, walk));
  return withWords({ ...either(made), ...(nullable && { nullable }) }, own);
}

/** Nothing but null is a string that is null. */
function either(schemas: JsonObject[]): JsonObject {
  return schemas.length > 1 ? { anyOf: schemas } : (schemas[0] ?? { type: 'string' });
}

/** Keywords that make a branch a schema of its own. */
const shaping = new Set(['type', '$ref', 'properties', 'items', 'enum', 'const', 'anyOf', 'oneOf', 'allOf']);

function union(own: JsonObject, branches: Json[], walk: Walk): JsonObject {
  const { description, title, default: preset, ...shared } = own;
  const isNull = (branch: Json) => isJsonObject(branch) && (branch['type'] === 'null' || branch['const'] === null);
  const real = branches.filter((branch) => !isNull(branch));
  const made = real.map((branch) => {
    if (!isJsonObject(branch) || Object.keys(shared).length === 0) return compile(branch, walk);
    return compile(allOf([followRef(branch, walk.root) ?? branch, shared]), walk);
  });
  const nullable = real.length < branches.length || own['nullable'] === true;
  const words: JsonObject = {
    ...(description && { description }),
    ...(title && { title }),
    ...(preset && { default: preset }),
  };
  return withWords({ ...either(made), ...(nullable && { nullable }) }, words);
}

/** Declared, or what the other keywords take for granted. */
function typesOf(node: JsonObject): string[] {
  const declared = [node['type'] ?? []].flat().filter((type) => typeof type === 'string');
  if (declared.length > 0) return declared;
  const values = node['const'] === undefined ? list(node['enum']) : [node['const']];
  if (values.length > 0) return [...new Set(values.map(typeOf))];
  for (const [type, keys] of Object.entries(ownKeywords))
    if (keys.some((key) => node[key] !== undefined)) return [type];
  return [];
}

const ownKeywords: Record<string, string[]> = {
  object: ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties', 'maxProperties'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains'],
  string: ['minLength', 'maxLength', 'pattern'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
};

function typeOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

const words = new Set(['type', 'nullable', 'description', 'title', 'default', 'example', '$schema', '$id', '$comment']);
const handled = new Set([...words, 'enum', 'const', '$defs', 'definitions', '$anchor']);
const plain: Record<string, string[]> = {
  object: ['minProperties', 'maxProperties'],
  array: ['minItems', 'maxItems'],
  string: ['minLength', 'maxLength', 'pattern'],
  number: ['minimum', 'maximum'],
  boolean: [],
};

function withType(type: string, node: JsonObject, walk: Walk): JsonObject {
  const family = type === 'integer' ? 'number' : type;
  const kept = plain[family];
  if (kept === undefined) return anything('type', walk);
  const made: JsonObject = { type };
  for (const key of kept) if (node[key] !== undefined) made[key] = node[key]!;
  const special = specials[family]?.(made, node, walk) ?? [];
  withValues(made, node, walk);
  const known = new Set([...kept, ...special]);
  const others = Object.entries(ownKeywords).flatMap(([other, keys]) => (other === family ? [] : keys));
  for (const key of Object.keys(node)) {
    if (!known.has(key) && !handled.has(key) && !others.includes(key)) walk.lost.add(key);
  }
  return made;
}

/** What each type needs beyond copying; returns the keywords that it saw to. */
const specials: Record<string, (made: JsonObject, node: JsonObject, walk: Walk) => string[]> = {
  object(made, node, walk) {
    const properties = isJsonObject(node['properties']) ? Object.entries(node['properties']) : [];
    const compiled: JsonObject = {};
    for (const [name, schema] of properties) define(compiled, name, compile(schema, walk));
    // An object without members must not list them.
    if (properties.length > 0) made['properties'] = compiled;
    const required = list(node['required']).filter((name) => typeof name === 'string' && Object.hasOwn(compiled, name));
    if (required.length > 0) made['required'] = required;
    const { additionalProperties: more } = node;
    if (isJsonObject(more) && Object.keys(more).length > 0) walk.sayable = true;
    return more === true ? ['properties', 'required', 'additionalProperties'] : ['properties', 'required'];
  },
  array(made, node, walk) {
    const { items } = node;
    const isTuple = Array.isArray(items) || node['prefixItems'] !== undefined;
    if (isTuple) {
      walk.sayable = true;
      walk.lost.add('prefixItems');
    }
    const members = isTuple ? [...list(node['prefixItems']), ...list(items)].map((item) => compile(item, walk)) : [];
    const rest = items === undefined || isTuple ? anything('items', walk) : compile(items, walk);
    made['items'] = members.length > 0 ? either([...members, rest]) : rest;
    return ['items', 'prefixItems'];
  },
  string(made, { format }) {
    if (format !== 'date-time') return [];
    made['format'] = format;
    return ['format'];
  },
  number(made, node) {
    const { exclusiveMinimum: above, exclusiveMaximum: below, format } = node;
    const isWhole = made['type'] === 'integer';
    // Of a number the bound itself is let in.
    if (typeof above === 'number') made['minimum'] ??= isWhole ? Math.floor(above) + 1 : above;
    if (typeof below === 'number') made['maximum'] ??= isWhole ? Math.ceil(below) - 1 : below;
    const known = isWhole ? ['int32', 'int64'] : ['float', 'double'];
    if (typeof format !== 'string' || !known.includes(format)) return isWhole ? exclusive : [];
    made['format'] = format;
    return isWhole ? [...exclusive, 'format'] : ['format'];
  },
};

const exclusive = ['exclusiveMinimum', 'exclusiveMaximum'];

/** `enum` is of strings only; of a number the range is said, of anything else the type. */
function withValues(made: JsonObject, node: JsonObject, walk: Walk): void {
  const given = node['const'] === undefined ? node['enum'] : [node['const']];
  if (!Array.isArray(given)) return;
  const keyword = node['const'] === undefined ? 'enum' : 'const';
  const strings = given.filter((value) => typeof value === 'string');
  if (made['type'] === 'string' && strings.length > 0 && !strings.includes('')) {
    made['enum'] = strings;
    return;
  }
  const numbers = given.filter((value) => typeof value === 'number');
  if ((made['type'] === 'number' || made['type'] === 'integer') && numbers.length > 0) {
    made['minimum'] = Math.min(...numbers);
    made['maximum'] = Math.max(...numbers);
    if (new Set(numbers).size === 1) return;
  }
  walk.sayable = true;
  walk.lost.add(keyword);
}

function withWords(made: JsonObject, node: JsonObject): JsonObject {
  const said: JsonObject = {};
  for (const key of ['title', 'description', 'default']) if (node[key] !== undefined) said[key] = node[key]!;
  return { ...made, ...said };
}

/** Every schema has a type: where there is none, all of them. */
function anything(keyword: string, walk: Walk): JsonObject {
  walk.lost.add(keyword);
  walk.sayable = true;
  const scalars = ['string', 'number', 'boolean', 'object'].map((type) => ({ type }));
  return { anyOf: [...scalars, { type: 'array', items: { anyOf: scalars, nullable: true } }], nullable: true };
}
