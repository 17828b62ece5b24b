// Reads OpenAI's `response_format` and `stop` for families that write them differently.
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { Warnings } from './warnings.js';

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

/** The form in words, for a model that cannot be held to a form. Undefined for text. */
export function formInWords(format: ResponseFormat): string | undefined {
  switch (format.type) {
    case 'text':
      return undefined;
    case 'json':
      return 'Answer with one JSON object and nothing else.';
    case 'schema':
      return `Answer with one JSON value that satisfies this JSON Schema, without any other text and without a code fence: ${JSON.stringify(format.schema)}`;
  }
}

/** The form in words, where tools may be called before the answer. */
export const formBesideTools = (format: ResponseFormat): string | undefined => {
  const words = formInWords(format);
  return words === undefined ? undefined : `Call tools as you need them. When you call none: ${words}`;
};

export const formAskedInWords = (model: string): string =>
  `${model} does not accept response_format together with tools, so the format was requested in words`;

/** The stop texts without blank ones, which the APIs refuse. */
export function readStops({ stop }: JsonObject, model: string, warnings: Warnings): string[] {
  if (stop === undefined) return [];
  const given = [stop ?? []].flat().filter((text) => typeof text === 'string');
  const stops = given.filter((text) => text.trim() !== '');
  if (stops.length < given.length) {
    warnings.add(`${model} does not accept stop sequences of white space, so they were left out`, 'stop');
  }
  return stops;
}
