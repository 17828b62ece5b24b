// Numbers in schemas and requests: bounds, units of time, and what people count when they mean a parameter.
import type { JsonObject } from '#libs/schemas/json.js';
import { DAY } from './find-moments.js';
import { splitName } from './words.js';

export function isWithin(schema: JsonObject, value: number): boolean {
  const bound = (key: string) => (typeof schema[key] === 'number' ? schema[key] : undefined);
  const step = bound('multipleOf');
  return (
    value >= (bound('minimum') ?? -Infinity) && value <= (bound('maximum') ?? Infinity) && value > (bound('exclusiveMinimum') ?? -Infinity) &&
    value < (bound('exclusiveMaximum') ?? Infinity) && (step === undefined || Number.isInteger(value / step))
  ); // prettier-ignore
}

export function numberFrom(schema: JsonObject): number | undefined {
  const low = typeof schema['minimum'] === 'number' ? Math.ceil(schema['minimum']) : 0;
  const high = typeof schema['maximum'] === 'number' ? Math.floor(schema['maximum']) : 0;
  return [0, 1, 10, low, high, low + 1].find((value) => isWithin(schema, value));
}

const TIME_UNITS: [RegExp, number][] = [
  [/\b(?:ms|millis|milliseconds?)\b|毫秒/, 1],
  [/\b(?:s|secs?|seconds?)\b|秒/, 1000],
  [/\b(?:mins?|minutes?)\b|分钟/, 60_000],
  [/\b(?:h|hrs?|hours?)\b|小时/, 3_600_000],
  [/\bdays?\b|天/, DAY],
  [/\bweeks?\b|周/, 7 * DAY],
];

export function unitOf(name: string, description: string): number | undefined {
  const find = (text: string) => TIME_UNITS.find(([pattern]) => pattern.test(text))?.[1];
  return find(splitName(name).toLowerCase()) ?? find(description.toLowerCase());
}

const COUNTED: [RegExp, RegExp][] = [
  [
    /limit|count|top|max|number|size|results?|数量|条数|个数/,
    /^(?:results?|items?|hits?|entries|rows?|lines?|docs?|documents?|matches|records?|条|个|篇|项|行|份|结果)/,
  ],
  [/days?|天/, /^(?:days?|天|日)/],
  [/hours?|小时/, /^(?:hours?|小时|个小)/],
  [/minutes?|duration|分钟|时长/, /^(?:min|分钟|分)/],
  [/seconds?|timeout|秒/, /^(?:s|sec|秒)/],
  [
    /amount|price|value|sum|金额/,
    /^(?:usd|eur|cny|jpy|gbp|hkd|dollars?|euros?|yuan|yen|pounds?|rmb|美元|欧元|人民|日元|英镑|元|块|[a-z]{3}$)/,
  ],
  [/brightness|percent|ratio|volume|level|亮度|音量|百分/, /^(?:%|percent)/],
  [/temp|degrees?|温度/, /^(?:°|度|degrees?|c$|f$)/],
  [/people|guests?|persons?|party|seats?|人数/, /^(?:people|guests?|persons?|adults?|人|位)/],
  [/quantity|qty|pieces?|数量/, /^(?:pieces?|pcs|units?|x$|件|个|份|台)/],
];

export function unitFits(name: string, description: string, unit: string): boolean {
  const words = `${splitName(name)} ${description}`.toLowerCase();
  return unit !== '' && COUNTED.some(([named, said]) => named.test(words) && said.test(unit));
}
