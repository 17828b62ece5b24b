// Finds dates and times, absolute or relative to now, in English or Chinese text. All are read as UTC.
import type * as english from 'chrono-node/en';
import type * as zh from 'chrono-node/zh';

export interface Moment {
  text: string;
  start: number;
  /** Relative to now; whole days if no time of day was named. */
  offsetMs: number;
  /** Epoch ms; at midnight if no time of day was named. */
  at: number;
}

const dayMs = 86_400_000;
/** The years 6 to 3934: ISO text has four digits for a year. */
const farthestMs = 62e12;

let parsers: { english: typeof english; chinese: typeof zh.hans } | undefined;

/** Loads the parsers of dates. A gateway whose models are all elsewhere never needs them. */
export async function loadDateParsers(): Promise<void> {
  if (parsers !== undefined) return;
  const [en, { hans }] = await Promise.all([import('chrono-node/en'), import('chrono-node/zh')]);
  parsers = { english: en, chinese: hans };
}

/** Call after `loadDateParsers`. */
export function findMoments(request: string, now: number): Moment[] {
  const reference = { instant: new Date(now), timezone: 0 };
  // The parsers take seconds for thousands of spaces.
  const text = request.replace(/\s{2,}/g, (run) => ` ${'\uFFFC'.repeat(run.length - 1)}`);
  const { english, chinese } = parsers!;
  const found: Moment[] = [];
  // Both languages find ISO dates; the longer text is the better reading.
  const results = [...english.parse(text, reference), ...chinese.parse(text, reference)];
  for (const { text: said, index: start, start: from } of results.sort((a, b) => b.text.length - a.text.length)) {
    const exact = from.date().getTime();
    const isKnown = found.some((one) => start < one.start + one.text.length && one.start < start + said.length);
    if (isKnown || !(Math.abs(exact) < farthestMs)) continue;
    const hasTime = from.isCertain('hour');
    const at = hasTime ? exact : dayOf(exact);
    // Unnamed seconds are those of now.
    found.push({
      text: said,
      start,
      at,
      offsetMs: hasTime ? Math.round((exact - now) / 1000) * 1000 : at - dayOf(now),
    });
  }
  return found.sort((left, right) => left.start - right.start);
}

function dayOf(at: number): number {
  return Math.floor(at / dayMs) * dayMs;
}
