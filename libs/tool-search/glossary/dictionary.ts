// What Chinese words mean in English that the glossary lacks, by an open dictionary, which `npm run build` makes a file of. The file stays
// outside of the heap, and is read when a question first needs it.
import { readFileSync } from 'node:fs';
import { installedPath } from '#libs/process/find-installed.js';
import { indexedForm } from '../read-words.js';

/** In characters, as the file has them. */
export const dictionaryWords = { shortest: 2, longest: 6 };
const newline = 0x0a;
let file: Buffer | undefined;

/**
 * The terms of its meanings, where each counts the less, the later its meaning stands and the more words that has; then each further word of
 * the first meaning, which says something besides: `balance sheet`. Empty for what is no word.
 */
export function translationsOf(word: string): ReadonlyMap<string, number>[] {
  const meanings = (lineOf(word)?.split(';') ?? []).map((meaning) => meaning.split(' ').flatMap(indexedForm));
  const [[first, ...further] = [], ...others] = meanings.filter(({ length }) => length > 0);
  if (first === undefined) return [];
  const shares = new Map([[first, 1]]);
  for (const [at, terms] of others.entries()) {
    const share = 1 / Math.sqrt((2 + at) * terms.length);
    for (const term of terms) shares.set(term, Math.max(share, shares.get(term) ?? 0));
  }
  return [shares, ...further.map((term) => new Map([[term, 1]]))];
}

/** What stands behind the word in its line. The lines are in the order of their bytes. */
function lineOf(word: string): string | undefined {
  file ??= readFileSync(installedPath('dist/dictionary.txt'));
  const sought = Buffer.from(`${word}\t`);
  let [from, to] = [0, file.length];
  while (from < to) {
    let begin = (from + to) >> 1;
    while (begin > from && file[begin - 1] !== newline) begin -= 1;
    let same = 0;
    while (same < sought.length && file[begin + same] === sought[same]) same += 1;
    if (same === sought.length) return file.toString('utf8', begin + same, file.indexOf(newline, begin));
    if (file[begin + same]! < sought[same]!) from = file.indexOf(newline, begin) + 1;
    else to = begin;
  }
  return undefined;
}
