// Words of the field that mean about the same, in English and in Chinese: definitions of tools are English mostly, questions are not. It
// is made from the vocabulary of software and offices, never from questions that are asked to measure the search.
import { charactersOf, pairsOf } from '#libs/words/script-runs.js';
import { stemOf } from '../read-words.js';
import { actions } from './actions.js';
import { things } from './things.js';

/** What another word of the same row counts, and what a Chinese word counts as its first, and as its further English words. */
const shares = { synonym: 0.4, translation: 1, furtherTranslation: 0.7 };
const none: ReadonlyMap<string, number> = new Map();

const meanings = new Map<string, Map<string, number>>();

/** Terms of the index that mean about what the word does, each with what it counts. */
export const meaningsOf = (word: string): ReadonlyMap<string, number> => meanings.get(word) ?? none;

for (const row of [...actions, ...things]) {
  const [english = '', chinese = ''] = row.split('=');
  addRow(wordsIn(english), wordsIn(chinese));
}

/** In characters. */
export const longestEntry = Math.max(...[...meanings.keys()].map((word) => charactersOf(word).length));

function addRow(english: readonly string[], chinese: readonly string[]): void {
  // A name of several words, `pull-request`, is translated to each of them, and is no synonym of others.
  const single = english.filter((word) => !word.includes('-')).map(stemOf);
  for (const word of single) {
    for (const other of single) if (other !== word) addMeaning(word, other, shares.synonym);
    for (const other of chinese) for (const term of termsOf(other)) addMeaning(word, term, shares.furtherTranslation);
  }
  for (const word of chinese) {
    for (const [at, other] of english.entries()) {
      const share = at === 0 ? shares.translation : shares.furtherTranslation;
      for (const part of other.split('-')) addMeaning(word, stemOf(part), share);
    }
  }
}

function addMeaning(word: string, term: string, share: number): void {
  const known = meanings.get(word) ?? new Map<string, number>();
  meanings.set(word, known.set(term, Math.max(share, known.get(term) ?? 0)));
}

/** A Chinese word as it stands in the index. */
function termsOf(word: string): string[] {
  const pairs = pairsOf(word);
  return pairs.length > 0 ? pairs : [word];
}

function wordsIn(text: string): string[] {
  return text.split(' ').filter((word) => word !== '');
}
