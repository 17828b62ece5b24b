// Translates JSON Schemas for Anthropic. A tool's schema only needs an object at the top. An answer's schema is reduced to
// what the API supports, with every object closed.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { define, objectAtTop } from '../conversation/schema-parts.js';

/** For `input_schema`: no reference and no alternatives at the top, the rest unchanged. */
export const toInputSchema = (schema: JsonObject | undefined): JsonObject => objectAtTop(schema ?? {});

const kept = new Set(['type', 'description', 'title', 'enum', 'const', 'default', '$ref', 'format', 'pattern']);
const branches = ['anyOf', 'allOf'];
const maps = ['properties', '$defs', 'definitions'];

/** For `output_config.format.schema`: leaves out bounds of numbers, lengths and lists, which the API does not support. */
export function toOutputSchema(schema: Json): Json {
  if (!isJsonObject(schema)) return {};
  const said: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (kept.has(key)) said[key] = value;
    else if (key === 'items') said[key] = toOutputSchema(value);
    else if (key === 'oneOf') said['anyOf'] = toAll(value);
    else if (branches.includes(key)) said[key] = toAll(value);
    else if (key === 'minItems') said[key] = Math.min(Number(value), 1);
    else if (maps.includes(key) && isJsonObject(value)) {
      const members: JsonObject = {};
      for (const [name, member] of Object.entries(value)) define(members, name, toOutputSchema(member));
      said[key] = members;
    }
  }
  if (schema['type'] === 'object' || schema['properties'] !== undefined) {
    return { ...said, additionalProperties: false, required: schema['required'] ?? [] };
  }
  return said;
}

const toAll = (schemas: Json): Json => (Array.isArray(schemas) ? schemas.map(toOutputSchema) : []);
