// Makes example arguments for the prompt: the required members of a schema, each with a value that the schema names or its
// type allows. The values need not satisfy the whole schema.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';

const maxDepth = 3;

export function exampleArguments(schema: JsonObject | undefined): JsonObject {
  const value = schema === undefined ? {} : exampleOf({ ...schema, type: 'object' }, 0);
  return isJsonObject(value) ? value : {};
}

export function exampleOf(schema: Json | undefined, depth: number): Json {
  if (!isJsonObject(schema)) return 'text';
  const [given] = [schema['const'], schema['default'], first(schema['examples']), first(schema['enum'])].filter(
    (value) => value !== undefined,
  );
  if (given !== undefined) return given;
  switch (first(schema['type']) ?? schema['type']) {
    case 'object':
      return depth < maxDepth ? exampleObject(schema, depth) : {};
    case 'array':
      return depth < maxDepth ? [exampleOf(schema['items'], depth + 1)] : [];
    case 'number':
    case 'integer':
      return typeof schema['minimum'] === 'number' ? schema['minimum'] : 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return 'text';
  }
}

function exampleObject(schema: JsonObject, depth: number): JsonObject {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const names = Object.keys(properties);
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const shown = names.filter((name) => required.includes(name));
  const list = shown.length === 0 ? names.slice(0, 1) : shown;
  return Object.fromEntries(list.map((name) => [name, exampleOf(properties[name], depth + 1)]));
}

const first = (value: Json | undefined): Json | undefined => (Array.isArray(value) ? value[0] : undefined);
