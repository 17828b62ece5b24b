// Test support: values that satisfy a JSON Schema.
import fc from 'fast-check';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { allOf, followRef, list } from '../../apps/gateway/models/conversation/schema-parts.js';

const deepest = 5;

/** Values for any schema that tools use. Keywords it cannot satisfy are left to the code that checks the value. */
export function instancesOf(schema: Json | undefined, root: JsonObject, depth = 0): fc.Arbitrary<Json> {
  if (!isJsonObject(schema) || depth > deepest) return fc.constantFrom<Json>('x', 7, true, null);
  const target = followRef(schema, root);
  if (target !== undefined) return instancesOf(target, root, depth + 1);
  if (schema['const'] !== undefined) return fc.constant(schema['const']);
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...schema['enum']);
  const { anyOf: any, oneOf: one, allOf: all, ...own } = schema;
  if (all !== undefined) return instancesOf(allOf([own, ...list(all).filter(isJsonObject)]), root, depth + 1);
  const branches = list(any ?? one).filter(isJsonObject);
  if (branches.length > 0) {
    return fc.oneof(
      ...branches.map((branch) => instancesOf(allOf([followRef(branch, root) ?? branch, own]), root, depth + 1)),
    );
  }
  const types = [own['type'] ?? (own['properties'] === undefined ? [] : 'object')].flat() as string[];
  if (types.length === 0) return fc.constantFrom<Json>('x', 7, true, null, ['x'], { x: 7 });
  return fc.oneof(...types.map((type) => instancesOfType(type, own, root, depth + 1)));
}

const formats: Record<string, string> = {
  uuid: '123e4567-e89b-42d3-a456-426614174000',
  uri: 'https://example.test/a',
  'date-time': '2026-01-02T03:04:05Z',
  date: '2026-01-02',
  email: 'a@example.test',
};

function instancesOfType(type: string, schema: JsonObject, root: JsonObject, depth: number): fc.Arbitrary<Json> {
  const number = (key: string, otherwise: number) => (typeof schema[key] === 'number' ? schema[key] : otherwise);
  const least = Math.max(number('minimum', -1_000), number('exclusiveMinimum', -1_001) + 1);
  const most = Math.min(number('maximum', least + 2_000), number('exclusiveMaximum', least + 2_001) - 1);
  switch (type) {
    case 'string': {
      const format = typeof schema['format'] === 'string' ? formats[schema['format']] : undefined;
      if (typeof schema['pattern'] === 'string') return fc.stringMatching(new RegExp(schema['pattern']));
      const text = fc.string({ minLength: number('minLength', 0), maxLength: number('maxLength', 12) });
      return format === undefined ? text : fc.constant(format);
    }
    case 'integer':
      return fc.integer({ min: Math.ceil(least), max: Math.floor(most) });
    case 'number':
      return fc.double({ min: least, max: most, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array': {
      const size = { minLength: number('minItems', 0), maxLength: number('maxItems', 3) };
      return fc.array(instancesOf(schema['items'], root, depth), size);
    }
    default:
      return objectsOf(schema, root, depth);
  }
}

function objectsOf(schema: JsonObject, root: JsonObject, depth: number): fc.Arbitrary<Json> {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [name, instancesOf(member, root, depth)]),
  );
  const requiredKeys = list(schema['required']).filter((name) => Object.hasOwn(members, name as string));
  return fc.record(members, { requiredKeys: requiredKeys as string[], noNullPrototype: true });
}
