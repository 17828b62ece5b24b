// Picks a value of one type from a clause: an option, a flag, a number, the source or the target of several.
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { aboutMember, typeOf, type Member } from './describe-tool.js';
import { namedValue, termsForName, valueBehind } from './find-text.js';
import type { Found } from './find-values.js';
import type { Clause } from './read-request.js';
import { hasHan, readWords, shared, splitName } from './words.js';

const mostOptions = 500;

/** The option that the clause names, in either language. */
export function optionIn(name: string, options: readonly Json[], clause: Clause): Json | undefined {
  const named = namedValue(name, clause)?.toLowerCase();
  const words = ` ${clause.text.toLowerCase().replace(/[^\p{L}\p{N}%+#]+/gu, ' ')} `;
  const isNamed = (option: Json): boolean => {
    const word = typeof option === 'object' ? '' : splitName(String(option)).toLowerCase().trim();
    if (named === word || word.length < 2) return named === word;
    return words.includes(hasHan(word) ? word : ` ${word} `);
  };
  const isMeant = (option: Json): boolean =>
    typeof option === 'string' && shared(readWords(splitName(option)).things, clause.words.things).length > 0;
  const some = options.slice(0, mostOptions);
  return some.find(isNamed) ?? some.find(isMeant);
}

export function flagIn(name: string, clause: Clause): boolean | undefined {
  const text = clause.text.toLowerCase();
  const said = namedValue(name, clause) ?? (/^(?:is )?(?:on|enabled?|power|active)$/.test(splitName(name)) ? text : '');
  if (/^(?:false|no|0|否)|\b(?:off|disable)\b|关|停用/i.test(said)) return false;
  if (/^(?:true|yes|1|是)|\b(?:on|enable)\b|开|启用/i.test(said)) return true;
  const term = termsForName(name).find((word) => word.length > (hasHan(word) ? 1 : 3) && text.includes(word));
  if (term === undefined) return undefined;
  return !/(?:without|not|no|don't|never|不要?|别|无需)\s?$/.test(text.slice(0, text.indexOf(term)));
}

export function isWithin(schema: JsonObject, value: number): boolean {
  const { minimum = -Infinity, maximum = Infinity } = schema;
  return (
    value >= Number(minimum) && value <= Number(maximum) && (typeOf(schema) !== 'integer' || Number.isInteger(value))
  );
}

const counted = /^(?:条|个|篇|项|行|份|件|结果|results?|items?|hits?|rows?|docs?|matches)/;
const limit = /limit|count|top|max|size|results?|数量|条数|个数/;

/** A number that the clause gives for the parameter or, for a required one, the next that is free. */
export function numberIn(member: Member, clause: Clause, used: Set<unknown>): number | undefined {
  const { name, schema, required } = member;
  const named = (namedValue(name, clause) ?? valueBehind(name, clause) ?? '').replaceAll(',', '');
  if (/^-?\d/.test(named) && isWithin(schema, Number.parseFloat(named))) return Number.parseFloat(named);
  const free = clause.values.numbers.filter((one) => !used.has(one) && isWithin(schema, one.value));
  const near = free.find(({ start, text, unit }) => {
    if (counted.test(unit)) return limit.test(aboutMember(member));
    const around = clause.text.slice(Math.max(0, start - 14), start + text.length + 18).toLowerCase();
    return termsForName(name).some((term) => around.includes(term));
  });
  const chosen = near ?? (required ? free[0] : undefined);
  if (chosen !== undefined) used.add(chosen);
  return chosen?.value;
}

const toBefore = /(?:\b(?:to|into|as|in|onto)|到|入|为|成|进|换|往|去|兑)\s?["“'「`]?(?:the\s+)?(?:file\s+)?$/i;
const fromBefore = /(?:\b(?:from|of|read|open)|从|把|将|由)\s?["“'「`]?(?:the\s+)?(?:file\s+)?$/i;

/** The one after a word like “to”/到 (target) or “from”/从 (source). */
export function directed(found: readonly Found[], text: string, role: 'source' | 'target'): Found | undefined {
  const [own, other] = role === 'target' ? [toBefore, fromBefore] : [fromBefore, toBefore];
  const before = ({ start }: Found) => text.slice(Math.max(0, start - 16), start);
  const left = found.filter((item) => !other.test(before(item)));
  return found.find((item) => own.test(before(item))) ?? (role === 'target' ? left.at(-1) : left[0]);
}
