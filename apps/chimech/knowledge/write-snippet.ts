// The part of a passage that shows best what was found, with **marks** around it.
import { pairsOf, plainWord, runsOf } from '#libs/words/script-runs.js';

/** What counts as found in a passage. */
export interface Sought {
  /** Plain words. */
  words: ReadonlySet<string>;
  /** Pairs and single characters of scripts without spaces. */
  characters: ReadonlySet<string>;
  exact?: string;
}

type Range = [start: number, end: number];

const maxLength = 240;

export function writeSnippet(text: string, sought: Sought): string {
  const found = sought.exact === undefined ? foundIn(text, sought) : occurrences(text, sought.exact);
  const [start, end] = bestWindow(text, found);
  let snippet = '';
  let at = start;
  for (const [from, to] of found) {
    if (from < at || to > end) continue;
    snippet += `${text.slice(at, from)}**${text.slice(from, to)}**`;
    at = to;
  }
  const whole = `${snippet}${text.slice(at, end)}`.replace(/\s+/g, ' ').trim();
  return `${start > 0 ? '… ' : ''}${whole}${end < text.length ? ' …' : ''}`;
}

/** Plain words of texts, as they are asked about when their stems are compared. */
export function plainWordsOf(texts: readonly string[]): Set<string> {
  const words = new Set<string>();
  for (const text of texts) for (const run of runsOf(text)) if (!run.cjk) words.add(plainWord(run.text));
  return words;
}

function foundIn(text: string, { words, characters }: Sought): Range[] {
  const ranges: Range[] = [];
  const add = (start: number, end: number) => {
    const last = ranges.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else ranges.push([start, end]);
  };
  for (const run of runsOf(text)) {
    const end = run.start + run.text.length;
    if (!run.cjk) {
      if (words.has(plainWord(run.text))) add(run.start, end);
      continue;
    }
    let at = run.start;
    const singles = Array.from(run.text);
    const pairs = pairsOf(run.text);
    for (const [index, single] of singles.entries()) {
      const pair = pairs[index];
      if (pair !== undefined && characters.has(pair)) add(at, at + single.length + singles[index + 1]!.length);
      else if (characters.has(single)) add(at, at + single.length);
      at += single.length;
    }
  }
  return ranges;
}

function occurrences(text: string, exact: string): Range[] {
  const [lowered, wanted] = [text.toLowerCase(), exact.toLowerCase()];
  // Lowering may change lengths in a few scripts: then places are not comparable.
  if (lowered.length !== text.length) return [];
  const ranges: Range[] = [];
  for (let at = lowered.indexOf(wanted); at >= 0; at = lowered.indexOf(wanted, at + wanted.length))
    ranges.push([at, at + wanted.length]);
  return ranges;
}

/** Where most of what was found is, from a word's beginning to a word's end. */
function bestWindow(text: string, found: readonly Range[]): Range {
  if (text.length <= maxLength) return [0, text.length];
  let [best, most, last] = [0, 0, 0];
  for (const [first, [start]] of found.entries()) {
    while (last < found.length && found[last]![1] <= start + maxLength) last += 1;
    if (last - first > most) [best, most] = [start, last - first];
  }
  let start = Math.max(0, Math.min(best - 40, text.length - maxLength));
  if (start > 0) start += Math.max(0, text.slice(start, start + 30).search(/(?<=\s)\S/));
  let end = Math.min(text.length, start + maxLength);
  if (end < text.length) {
    const space = text.slice(end - 30, end).search(/\s\S*$/);
    if (space > 0) end += space - 30;
  }
  return [startOfCharacter(text, start), startOfCharacter(text, end)];
}

/** Surrogates stay together. */
function startOfCharacter(text: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(text[at] ?? '') ? at - 1 : at;
}
