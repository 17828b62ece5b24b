// JSON Schemas as Anthropic takes them: of a tool nearly all, but an object at the top; of an answer the subset that its
// grammar knows, every object closed.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { define, objectAtTop } from '../conversation/schema-parts.js';

/** `input_schema`: no reference and no choice at the top, the rest as it is. */
export const toInputSchema = (schema: JsonObject | undefined): JsonObject => objectAtTop(schema ?? {});

const kept = new Set(['type', 'description', 'title', 'enum', 'const', 'default', '$ref', 'format', 'pattern']);
const branches = ['anyOf', 'allOf'];
const maps = ['properties', '$defs', 'definitions'];

/** `output_config.format.schema`: bounds of numbers, lengths and lists are left out, the model is asked for no less. */
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
