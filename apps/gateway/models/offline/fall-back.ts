// What a required parameter gets when the request is silent.
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { typeOf } from './describe-tool.js';
import type { FillContext } from './fill-context.js';
import { isWithin, numberFrom } from './fit-numbers.js';
import { splitName, topics } from './words.js';

/** Required, and the request is silent: what the schema itself offers, or a harmless value; invented only by force. */
export function fallbackFor(name: string, schema: JsonObject, context: FillContext): Json | undefined {
  if (schema['default'] !== undefined) return schema['default'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  const type = typeOf(schema);
  if (type === 'boolean') return false;
  const words = splitName(name).toLowerCase();
  if (
    (type === 'integer' || type === 'number') &&
    /\b(?:limit|count|top|max|size|k|n)\b/.test(words) &&
    isWithin(schema, 10)
  )
    return 10;
  if ((type === 'integer' || type === 'number') && /\b(?:page|offset|skip|index)\b/.test(words))
    return numberFrom(schema);
  if (/\bsubject\b|主题/.test(words) && type === 'string')
    return topics(context.clause.entities.masked)[0] ?? context.request.slice(0, 60);
  if (!context.force) return undefined;
  if (type === 'integer' || type === 'number') return numberFrom(schema);
  if (type === 'array') return [];
  if (type === 'object') return {};
  return typeof schema['format'] === 'string' && schema['format'] !== ''
    ? undefined
    : context.request.trim() || undefined;
}
