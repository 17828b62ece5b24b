// Reads OpenAI's `response_format` and `stop` for families that write them differently.
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';

export type ResponseFormat = { type: 'text' } | { type: 'json' } | { type: 'schema'; schema: JsonObject };

/** @throws AppError invalid_value */
export function readResponseFormat({ response_format: format }: JsonObject): ResponseFormat {
  if (!isJsonObject(format) || format['type'] === 'text') return { type: 'text' };
  if (format['type'] === 'json_object') return { type: 'json' };
  const wrapper = format['json_schema'];
  if (format['type'] === 'json_schema' && isJsonObject(wrapper) && isJsonObject(wrapper['schema'])) {
    return { type: 'schema', schema: wrapper['schema'] };
  }
  throw new AppError('invalid_value', 'response_format must be text, json_object or json_schema with a schema', {
    param: 'response_format',
  });
}

/** Without blank ones, which the APIs refuse. */
export function readStops({ stop }: JsonObject): string[] {
  return [stop ?? []].flat().filter((text): text is string => typeof text === 'string' && text.trim() !== '');
}
