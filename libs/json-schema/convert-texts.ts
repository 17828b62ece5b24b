// Values that a model wrote as text where a schema names one other type: numbers, truth values, objects and lists. Converts
// only what can be written back as the same text, so nothing is guessed, and never to text.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { targetOf } from './schema-references.js';

/** The same value if nothing was converted. */
export const convertTexts = (value: Json, schema: JsonObject): Json =>
  convert(value, schema, { root: schema, left: 50_000 });

interface Converting {
  root: JsonObject;
  left: number;
}

function convert(value: Json, schema: Json | undefined, converting: Converting): Json {
  if (!isJsonObject(schema) || (converting.left -= 1) < 0) return value;
  const place: Place = { types: new Set(), nodes: [] };
  look(schema, place, converting.root);
  if (typeof value === 'string') {
    const [type, ...others] = place.types;
    const read = type === undefined || others.length > 0 ? undefined : readAs(type, value);
    return read === undefined ? value : within(read, place.nodes, converting);
  }
  return within(value, place.nodes, converting);
}

function within(value: Json, nodes: readonly JsonObject[], converting: Converting): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const made = value.map((item, at) => convert(item, allOf(nodes.flatMap((node) => itemOf(node, at))), converting));
    return made.some((item, at) => item !== value[at]) ? made : value;
  }
  const made = Object.entries(value).map(
    ([name, member]) =>
      [name, convert(member, allOf(nodes.flatMap((node) => memberOf(node, name))), converting)] as const,
  );
  return made.some(([name, member]) => member !== value[name]) ? Object.fromEntries(made) : value;
}

const allOf = (schemas: Json[]): Json | undefined => (schemas.length > 1 ? { allOf: schemas } : schemas[0]);

function itemOf({ prefixItems, items }: JsonObject, at: number): Json[] {
  const own = Array.isArray(prefixItems) ? prefixItems[at] : undefined;
  return [own ?? items ?? []].flat();
}

function memberOf({ properties, additionalProperties }: JsonObject, name: string): Json[] {
  if (isJsonObject(properties) && Object.hasOwn(properties, name)) return [properties[name]!];
  return isJsonObject(additionalProperties) ? [additionalProperties] : [];
}

interface Place {
  /** Types without null; `any` if a choice admits anything. */
  types: Set<string>;
  /** Schemas that hold whatever is chosen. */
  nodes: JsonObject[];
}

const mostNodes = 100;

function look(schema: Json | undefined, place: Place, root: JsonObject): void {
  if (!isJsonObject(schema) || place.nodes.includes(schema) || place.nodes.length > mostNodes) return;
  place.nodes.push(schema);
  const { type, $ref: ref, allOf: all } = schema;
  for (const name of [type].flat()) if (typeof name === 'string' && name !== 'null') place.types.add(name);
  if (typeof ref === 'string') look(targetOf(ref, root), place, root);
  if (Array.isArray(all)) for (const each of all) look(each, place, root);
  for (const choice of [schema['anyOf'], schema['oneOf']]) {
    if (!Array.isArray(choice)) continue;
    const real = choice.filter((each) => !isJsonObject(each) || each['type'] !== 'null');
    if (real.length === 1) look(real[0], place, root);
    else chooseTypes(real, place, root);
  }
}

/** Adds the types of all choices. A choice without types admits any, unless types are named around it. */
function chooseTypes(choices: readonly Json[], { types, nodes }: Place, root: JsonObject): void {
  const without = types.size > 0 ? [] : ['any'];
  for (const each of choices) {
    const own: Place = { types: new Set(), nodes: [...nodes] };
    look(each, own, root);
    for (const name of own.types.size > 0 ? own.types : without) types.add(name);
  }
}

function readAs(type: string, text: string): Json | undefined {
  switch (type) {
    case 'integer':
      return String(Number(text)) === text && Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
    case 'number':
      return readNumber(text);
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined;
    case 'object':
    case 'array':
      return readContainer(type, text);
    default:
      return undefined;
  }
}

/** Zeros at the end of a fraction say nothing. */
function readNumber(text: string): number | undefined {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text)) return undefined;
  const shortest = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return String(Number(shortest)) === shortest ? Number(shortest) : undefined;
}

function readContainer(type: 'object' | 'array', text: string): Json | undefined {
  try {
    const value = JSON.parse(text, finite) as Json;
    return (type === 'array' ? Array.isArray(value) : isJsonObject(value)) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** @throws Error for a number that cannot be written back */
function finite(_name: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('out of range');
  return value;
}
