// Translates a JSON Schema to the OpenAPI subset that Gemini supports. Inlines references, keeps unions, and lists the
// keywords that it leaves out. The schema is widened, never narrowed: valid values stay valid.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { allOf, define, followRef, list } from '../conversation/schema-parts.js';

export interface GeminiSchema {
  schema: JsonObject;
  /** Keywords that were left out. */
  lost: string[];
  /** Something was lost that Gemini's other form, JSON Schema, can express. */
  needsJsonSchema: boolean;
}

const maxDepth = 24;
/** Inlined references can multiply. */
const maxNodes = 2_000;
/** How often a reference is inlined within itself. */
const maxRecursion = 2;

interface Context {
  root: JsonObject;
  lost: Set<string>;
  needsJsonSchema: boolean;
  nodes: number;
  /** The references around the current node. */
  path: string[];
}

export function toGeminiSchema(schema: JsonObject): GeminiSchema {
  const context: Context = { root: schema, lost: new Set(), needsJsonSchema: false, nodes: 0, path: [] };
  const compiled = compile(schema, context);
  return { schema: compiled, lost: [...context.lost].sort(), needsJsonSchema: context.needsJsonSchema };
}

function compile(node: Json, context: Context): JsonObject {
  context.nodes += 1;
  if (context.path.length > maxDepth || context.nodes > maxNodes) return anything('$ref', context);
  if (!isJsonObject(node)) return anything(node === false ? 'false' : 'type', context);
  const { $ref: ref } = node;
  if (typeof ref === 'string') {
    const target = followRef(node, context.root);
    if (target === undefined || context.path.filter((one) => one === ref).length >= maxRecursion)
      return anything('$ref', context);
    return within(ref, context, () => compile(target, context));
  }
  return within('', context, () => compileOwn(node, context));
}

function within(step: string, context: Context, work: () => JsonObject): JsonObject {
  context.path.push(step);
  const made = work();
  context.path.pop();
  return made;
}

function compileOwn(node: JsonObject, context: Context): JsonObject {
  const { allOf: all, anyOf: any, oneOf: one, ...own } = node;
  if (all !== undefined) {
    const branches = list(all).filter(isJsonObject);
    const found = branches.map((branch) => followRef(branch, context.root) ?? branch);
    return compile(allOf([{ ...own, ...(any && { anyOf: any }), ...(one && { oneOf: one }) }, ...found]), context);
  }
  const branches = list(any ?? one);
  const describes = branches.some(
    (branch) => isJsonObject(branch) && Object.keys(branch).some((key) => shaping.has(key)),
  );
  if (describes) return union(own, branches, context);
  // Neither form of Gemini's can express `{"anyOf": [{"required": ["a"]}, …]}` beside an object.
  if (branches.length > 0) context.lost.add(any === undefined ? 'oneOf' : 'anyOf');
  const types = typesOf(own);
  if (types.length === 0) return withWords(anything('type', context), own);
  const real = types.filter((type) => type !== 'null');
  const nullable = real.length < types.length || own['nullable'] === true || list(own['enum']).includes(null);
  const made = real.map((type) => withType(type, own, context));
  return withWords({ ...either(made), ...(nullable && { nullable }) }, own);
}

/** A schema that allows only null becomes a nullable string. */
function either(schemas: JsonObject[]): JsonObject {
  return schemas.length > 1 ? { anyOf: schemas } : (schemas[0] ?? { type: 'string' });
}

/** A branch with one of these is a schema of its own. */
const shaping = new Set(['type', '$ref', 'properties', 'items', 'enum', 'const', 'anyOf', 'oneOf', 'allOf']);

function union(own: JsonObject, branches: Json[], context: Context): JsonObject {
  const { description, title, default: preset, ...shared } = own;
  const isNull = (branch: Json) => isJsonObject(branch) && (branch['type'] === 'null' || branch['const'] === null);
  const real = branches.filter((branch) => !isNull(branch));
  const made = real.map((branch) => {
    if (!isJsonObject(branch) || Object.keys(shared).length === 0) return compile(branch, context);
    return compile(allOf([followRef(branch, context.root) ?? branch, shared]), context);
  });
  const nullable = real.length < branches.length || own['nullable'] === true;
  const words: JsonObject = {
    ...(description && { description }),
    ...(title && { title }),
    ...(preset && { default: preset }),
  };
  return withWords({ ...either(made), ...(nullable && { nullable }) }, words);
}

/** The declared types, or the one that the other keywords imply. */
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

function withType(type: string, node: JsonObject, context: Context): JsonObject {
  const group = type === 'integer' ? 'number' : type;
  const kept = plain[group];
  if (kept === undefined) return anything('type', context);
  const made: JsonObject = { type };
  for (const key of kept) if (node[key] !== undefined) made[key] = node[key]!;
  const special = specials[group]?.(made, node, context) ?? [];
  withValues(made, node, context);
  const known = new Set([...kept, ...special]);
  const others = Object.entries(ownKeywords).flatMap(([other, keys]) => (other === group ? [] : keys));
  for (const key of Object.keys(node)) {
    if (!known.has(key) && !handled.has(key) && !others.includes(key)) context.lost.add(key);
  }
  return made;
}

/** What each type needs besides copied keywords. Returns the keywords that it handled. */
const specials: Record<string, (made: JsonObject, node: JsonObject, context: Context) => string[]> = {
  object(made, node, context) {
    const properties = isJsonObject(node['properties']) ? Object.entries(node['properties']) : [];
    const compiled: JsonObject = {};
    for (const [name, schema] of properties) define(compiled, name, compile(schema, context));
    // Gemini refuses empty `properties`.
    if (properties.length > 0) made['properties'] = compiled;
    const required = list(node['required']).filter((name) => typeof name === 'string' && Object.hasOwn(compiled, name));
    if (required.length > 0) made['required'] = required;
    const { additionalProperties: more } = node;
    // Gemini writes the named members only, so `false` loses nothing.
    if (!isJsonObject(more) || Object.keys(more).length === 0)
      return ['properties', 'required', 'additionalProperties'];
    context.needsJsonSchema = true;
    return ['properties', 'required'];
  },
  array(made, node, context) {
    const { items } = node;
    const isTuple = Array.isArray(items) || node['prefixItems'] !== undefined;
    if (isTuple) {
      context.needsJsonSchema = true;
      context.lost.add('prefixItems');
    }
    const members = isTuple ? [...list(node['prefixItems']), ...list(items)].map((item) => compile(item, context)) : [];
    const rest = items === undefined || isTuple ? anything('items', context) : compile(items, context);
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
    // For numbers, the bound itself becomes valid.
    if (typeof above === 'number') made['minimum'] ??= isWhole ? Math.floor(above) + 1 : above;
    if (typeof below === 'number') made['maximum'] ??= isWhole ? Math.ceil(below) - 1 : below;
    const known = isWhole ? ['int32', 'int64'] : ['float', 'double'];
    if (typeof format !== 'string' || !known.includes(format)) return isWhole ? exclusive : [];
    made['format'] = format;
    return isWhole ? [...exclusive, 'format'] : ['format'];
  },
};

const exclusive = ['exclusiveMinimum', 'exclusiveMaximum'];

/** Gemini's `enum` has only strings. Numbers get a range; for other types only the type remains. */
function withValues(made: JsonObject, node: JsonObject, context: Context): void {
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
  context.needsJsonSchema = true;
  context.lost.add(keyword);
}

function withWords(made: JsonObject, node: JsonObject): JsonObject {
  const said: JsonObject = {};
  for (const key of ['title', 'description', 'default']) if (node[key] !== undefined) said[key] = node[key]!;
  return { ...made, ...said };
}

/** Gemini requires a type in every schema. This allows all of them. */
function anything(keyword: string, context: Context): JsonObject {
  context.lost.add(keyword);
  context.needsJsonSchema = true;
  const scalars = ['string', 'number', 'boolean', 'object'].map((type) => ({ type }));
  return { anyOf: [...scalars, { type: 'array', items: { anyOf: scalars, nullable: true } }], nullable: true };
}
