// Renames the members of a value that its schema has as properties, and no others: a map of anything keeps its keys.
import { targetOf } from '#libs/json-schema/schema-references.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { define, list } from './schema-parts.js';

export interface NamePlaces {
  root: JsonObject;
  /** Translates a member's name to the property's own. */
  ownName: (member: string) => string;
  /** The new name for the property's own name. */
  given: (own: string) => string;
}

/** `schemas`: the schemas that may apply to the value. A value without such members is returned as an equal one. */
export function renameMembers<T extends Json>(value: T, schemas: readonly Json[], places: NamePlaces): T {
  if (typeof value !== 'object' || value === null) return value;
  const nodes = within(schemas, places.root);
  if (nodes.length === 0) return value;
  if (Array.isArray(value)) {
    const all = nodes.flatMap(({ items, contains }) => [items, contains]).filter((each) => each !== undefined);
    const made = value.map((item: Json, at) => {
      const own = nodes.flatMap(({ prefixItems, items }) => list(prefixItems ?? items)[at] ?? []);
      return renameMembers(item, [...own, ...all], places);
    });
    return made as Json as T;
  }
  const made: JsonObject = {};
  for (const [member, each] of Object.entries(value)) {
    const own = places.ownName(member);
    const declared = nodes.flatMap(({ properties }) => memberOf(properties, own));
    const name = declared.length > 0 ? places.given(own) : member;
    define(made, name, renameMembers(each, declared.length > 0 ? declared : others(nodes), places));
  }
  return made as T;
}

const memberOf = (members: Json | undefined, name: string): Json[] =>
  isJsonObject(members) && Object.hasOwn(members, name) ? [members[name]!] : [];

function others(nodes: readonly JsonObject[]): Json[] {
  return nodes.flatMap(({ additionalProperties, patternProperties }) => [
    ...(isJsonObject(additionalProperties) ? [additionalProperties] : []),
    ...(isJsonObject(patternProperties) ? Object.values(patternProperties) : []),
  ]);
}

const mostNodes = 500;
const branches = ['allOf', 'anyOf', 'oneOf'];
const conditions = ['if', 'then', 'else'];

/** The schemas with their references and alternatives. */
function within(schemas: readonly Json[], root: JsonObject): JsonObject[] {
  const found = new Set<JsonObject>();
  const pending = [...schemas];
  for (let next = pending.pop(); next !== undefined && found.size < mostNodes; next = pending.pop()) {
    if (!isJsonObject(next) || found.has(next)) continue;
    found.add(next);
    const { $ref: ref, dependentSchemas } = next;
    if (typeof ref === 'string') pending.push(targetOf(ref, root) ?? {});
    for (const key of branches) pending.push(...list(next[key]));
    for (const key of conditions) if (next[key] !== undefined) pending.push(next[key]);
    if (isJsonObject(dependentSchemas)) pending.push(...Object.values(dependentSchemas));
  }
  return [...found];
}
