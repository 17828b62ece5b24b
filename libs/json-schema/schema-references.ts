// The references within one JSON Schema, and the names that they lead to. Never fetches anything.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';

/** Keywords whose values hold no schemas, whatever they look like. */
const data = new Set(['const', 'default', 'enum', 'example', 'examples', 'required', 'dependentRequired']);
const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']);

/** Draft 4's `id`: as `$id` if a reference could need it, else left out. Most are no addresses at all. */
export function withoutIds(schema: JsonObject): JsonObject {
  const ids: string[] = [];
  let byAddress = false;
  eachNode(schema, ({ id, $ref: ref }) => {
    if (typeof id === 'string') ids.push(id);
    byAddress ||= typeof ref === 'string' && ref !== '#' && !ref.startsWith('#/');
  });
  if (ids.length === 0) return schema;
  return rewritten(schema, ({ id, ...rest }) => {
    if (typeof id !== 'string') return id === undefined ? rest : { id, ...rest };
    if (!byAddress) return rest;
    return id.startsWith('#') ? { ...rest, $anchor: id.slice(1) } : { ...rest, $id: id };
  });
}

export function checkReferences(schema: JsonObject): string | undefined {
  const references: string[] = [];
  const named = new Set<string>();
  eachNode(schema, ({ $ref: ref, $id: id, $anchor: anchor }) => {
    if (typeof ref === 'string') references.push(ref);
    if (typeof id === 'string') named.add(id.replace(/#$/, ''));
    if (typeof anchor === 'string') named.add(`#${anchor}`);
  });
  const lost = references.find((ref) => {
    const [address, pointer = ''] = ref.split('#', 2);
    if (address !== '') return named.size === 0;
    return pointer !== '' && !named.has(ref) && (!pointer.startsWith('/') || valueAt(ref, schema) === undefined);
  });
  return lost === undefined ? undefined : `refers to ${lost.slice(0, 100)}, which is not in it`;
}

/** The segment of a JSON pointer that leads to a member. */
export const pointerTo = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** The schema that a reference within `root` (`#/$defs/x`) leads to. Undefined if not found. */
export function targetOf(ref: string, root: JsonObject): JsonObject | undefined {
  const found = /^#(?:\/|$)/.test(ref) ? valueAt(ref, root) : undefined;
  return isJsonObject(found) ? found : undefined;
}

function valueAt(ref: string, root: JsonObject): Json | undefined {
  let found: Json | undefined = root;
  for (const segment of ref.split('/').slice(1)) {
    const key = memberOf(segment);
    const within: Json | undefined = found;
    if (typeof within !== 'object' || within === null || !Object.hasOwn(within, key)) return undefined;
    found = (within as JsonObject)[key];
  }
  return found;
}

/** The member that a segment of a JSON pointer leads to. */
export function memberOf(segment: string): string {
  let plain = segment;
  try {
    plain = decodeURIComponent(segment);
  } catch {
    // The segment is not percent-encoded.
  }
  return plain.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Every schema within `schema`. */
export function eachNode(schema: JsonObject, visit: (node: JsonObject) => void): void {
  rewritten(schema, (node) => {
    visit(node);
    return node;
  });
}

/** Every schema within `schema`, rewritten from the outside in. */
export function rewritten(schema: JsonObject, rewrite: (node: JsonObject) => JsonObject): JsonObject {
  const made = rewrite(schema);
  const entries = Object.entries(made).map(([key, value]) => {
    if (data.has(key)) return [key, value] as const;
    if (maps.has(key) && isJsonObject(value)) return [key, mapped(value, (one) => within(one, rewrite))] as const;
    return [key, within(value, rewrite)] as const;
  });
  return entries.some(([key, value]) => value !== made[key]) ? Object.fromEntries(entries) : made;
}

function within(value: Json, rewrite: (node: JsonObject) => JsonObject): Json {
  if (isJsonObject(value)) return rewritten(value, rewrite);
  if (!Array.isArray(value)) return value;
  const made = value.map((one) => within(one, rewrite));
  return made.some((one, index) => one !== value[index]) ? made : value;
}

function mapped(members: JsonObject, map: (value: Json) => Json): JsonObject {
  const entries = Object.entries(members).map(([key, value]) => [key, map(value)] as const);
  return entries.some(([key, value]) => value !== members[key]) ? Object.fromEntries(entries) : members;
}
