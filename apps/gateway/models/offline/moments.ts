// Finds dates and times, absolute or relative to now, in English or Chinese text, and writes them as a parameter expects.
// All are read as UTC.
import type * as english from 'chrono-node/en';
import type * as zh from 'chrono-node/zh';
import { hasHan } from './words.js';

export interface Moment {
  text: string;
  start: number;
  /** Relative to now; whole days if no time of day was named. */
  offsetMs: number;
  /** Epoch ms; at midnight if no time of day was named. */
  at: number;
  /** Of a range, like “from 15:00 to 16:30”. */
  until: number | undefined;
}

const dayMs = 86_400_000;
/** The years 6 to 3934: ISO text has four digits for a year. */
const farthestMs = 62e12;
const filler = '\uFFFC';
const unitsMs: [RegExp, number][] = [
  [/\b(?:ms|millis(?:econds?)?)\b|毫秒/, 1],
  [/\b(?:s|sec|seconds?)\b|秒/, 1000],
  [/\b(?:min|minutes?)\b|分钟/, 60_000],
  [/\bhours?\b|小时/, 3_600_000],
  [/\bdays?\b|天/, dayMs],
];

let parsers: { english: typeof english; chinese: typeof zh.hans } | undefined;

/** Loads the parsers of dates. A gateway whose models are all elsewhere never needs them. */
export async function loadDateParsers(): Promise<void> {
  if (parsers !== undefined) return;
  const [en, { hans }] = await Promise.all([import('chrono-node/en'), import('chrono-node/zh')]);
  parsers = { english: en, chinese: hans };
}

/** After `loadDateParsers`. */
export function findMoments(request: string, now: number): Moment[] {
  if (parsers === undefined) throw new Error('the parsers of dates are not loaded');
  const { english, chinese } = parsers;
  const reference = { instant: new Date(now), timezone: 0 };
  // The parsers take seconds for thousands of spaces.
  const text = request.replace(/\s{2,}/g, (run) => ` ${filler.repeat(run.length - 1)}`);
  const results = [...english.parse(text, reference), ...(hasHan(text) ? chinese.parse(text, reference) : [])];
  const found: Moment[] = [];
  // Both languages find ISO dates; the longer text is the better reading.
  for (const { text: said, index: start, start: from, end } of results.sort((a, b) => b.text.length - a.text.length)) {
    if (found.some((one) => start < one.start + one.text.length && one.start < start + said.length)) continue;
    const hasTime = from.isCertain('hour');
    const exact = from.date().getTime();
    if (!(Math.abs(exact) < farthestMs)) continue;
    const at = hasTime ? exact : dayOf(exact);
    // Seconds that were not named are those of now.
    const offsetMs = hasTime ? Math.round((exact - now) / 1000) * 1000 : at - dayOf(now);
    found.push({ text: said, start, offsetMs, at, until: end?.date().getTime() });
  }
  return found.sort((left, right) => left.start - right.start);
}

function dayOf(at: number): number {
  return Math.floor(at / dayMs) * dayMs;
}

/** How far from now, in the unit that the parameter's name or description tells. */
export function offsetFor(about: string, [moment]: readonly Moment[]): number | undefined {
  if (moment === undefined) return undefined;
  const unitMs = unitsMs.find(([pattern]) => pattern.test(about))?.[1] ?? 1;
  const offset = (moment.offsetMs / unitMs) * (/\bago\b/.test(about) ? -1 : 1);
  // Never negative zero, which JSON does not have.
  return offset || 0;
}

/** ISO text. A parameter for an end takes the end of a range or the last of several. */
export function isoFor(name: string, format: unknown, moments: readonly Moment[]): string | undefined {
  const last = moments.at(-1);
  const isEnd = /end|until|结束|截止/i.test(name);
  const at = isEnd ? (last?.until ?? (moments.length > 1 ? last?.at : undefined)) : moments[0]?.at;
  if (at === undefined) return undefined;
  const iso = `${new Date(at).toISOString().slice(0, 19)}Z`;
  if (format === 'time') return iso.slice(11);
  return format === 'date' || (format === undefined && /date|day|日期/i.test(name)) ? iso.slice(0, 10) : iso;
}
