// Reads an option, a flag or a time from a clause, and checks numbers against a schema's bounds.
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { dayMs, type Moment } from './entities.js';
import { namedValue, termsForName, type Clause } from './read-request.js';
import { descriptionOf } from './tool-profile.js';
import { hasHan, readWords, shared, splitName } from './words.js';

/** A parameter; its schema has no references. */
export interface Member {
  name: string;
  schema: JsonObject;
  required: boolean;
  depth: number;
}

/** The option that the clause names, in either language. */
export function optionIn(name: string, options: readonly Json[], clause: Clause): Json | undefined {
  const named = namedValue(name, clause)?.toLowerCase();
  const words = ` ${clause.lower.replace(/[^\p{L}\p{N}%+#]+/gu, ' ')} `;
  const isNamed = (option: Json): boolean => {
    if (typeof option === 'object') return false;
    const word = splitName(String(option).toLowerCase()).trim();
    if (word.length < 2) return named === word;
    return named === word || (hasHan(word) ? clause.lower.includes(word) : words.includes(` ${word} `));
  };
  const isMeant = (option: Json): boolean =>
    typeof option === 'string' && shared(readWords(splitName(option)).values, clause.words.values).length > 0;
  const some = options.slice(0, 500);
  return some.find(isNamed) ?? some.find(isMeant);
}

export function flagIn(name: string, schema: JsonObject, clause: Clause): boolean | undefined {
  const { text, lower } = clause;
  const named = namedValue(name, clause);
  if (named !== undefined && /^(?:true|yes|on|1|是|开)/i.test(named)) return true;
  if (named !== undefined && /^(?:false|no|off|0|否|关)/i.test(named)) return false;
  const own = splitName(name).toLowerCase();
  if (/^(?:on|enabled?|power|state|active|is on|switch)$/.test(own)) {
    if (/\b(?:off|disable)\b|关|停用|禁用/i.test(text)) return false;
    return /\b(?:on|enable)\b|开|启用/i.test(text) ? true : undefined;
  }
  const terms = [...termsForName(name), descriptionOf(schema)];
  const term = terms.find((word) => (hasHan(word) ? word.length > 1 : word.length > 3) && lower.includes(word));
  if (term === undefined) return undefined;
  return !/(?:without|not|no|don't|never|不要?|别|无需)\s?$/.test(lower.slice(0, lower.indexOf(term)));
}

export function isWithin(schema: JsonObject, value: number): boolean {
  const bound = (key: string, other: number) => (typeof schema[key] === 'number' ? schema[key] : other);
  return (
    value >= bound('minimum', -Infinity) && value <= bound('maximum', Infinity) && value > bound('exclusiveMinimum', -Infinity) &&
    value < bound('exclusiveMaximum', Infinity) && (schema['multipleOf'] === undefined || Number.isInteger(value / bound('multipleOf', 1)))
  ); // prettier-ignore
}

/** A date or time as ISO text in UTC. An end is the last of several times; with only one, an optional end is left out. */
export function momentFor(
  { name, schema, required }: Member,
  said: readonly Moment[],
  now: number,
): string | undefined {
  const isEnd = /^(?:end|until|due)/i.test(name);
  const isOne = said.filter((moment) => moment.date !== undefined || moment.minuteOfDay !== undefined).length < 2;
  if (said.length === 0 || (isEnd && isOne && !required)) return undefined;
  const moments = isEnd ? said.toReversed() : said;
  const shift = moments.find((moment) => moment.offsetMs !== undefined)?.offsetMs ?? 0;
  const base = new Date(now + shift).toISOString();
  const named = moments.find((moment) => moment.date !== undefined)?.date;
  const date = named === undefined ? base.slice(0, 10) : named.length === 5 ? `${base.slice(0, 5)}${named}` : named;
  const minutes = moments.find((moment) => moment.minuteOfDay !== undefined)?.minuteOfDay ?? 0;
  const clock = shift % dayMs === 0 ? minutes * 60_000 : now + shift;
  const time = `${new Date(clock).toISOString().slice(11, 19)}Z`;
  if (schema['format'] === 'time') return time;
  const isDay = schema['format'] === 'date' || (schema['format'] === undefined && /date|day|日期/i.test(name));
  return isDay ? date : `${date}T${time}`;
}
