// Words of the field that mean about the same, in English and in Chinese: definitions of tools are English mostly, questions are not. It
// is made from the vocabulary of software and offices, never from questions that are asked to measure the search.
import { charactersOf, pairsOf } from '#libs/words/script-runs.js';
import { stemOf } from '../read-words.js';
import { actions } from './actions.js';
import { chineseSayings } from './chinese-sayings.js';
import { dictionaryWords, translationsOf } from './dictionary.js';
import { everydayThings } from './everyday-things.js';
import { products } from './products.js';
import { sayings } from './sayings.js';
import { softwareThings } from './software-things.js';
import { things } from './things.js';

/**
 * What another word of the same row counts, what a Chinese word counts as its first and as its further English words, and what a
 * saying counts as the words that definitions have for it.
 */
const shares = { synonym: 0.4, translation: 1, furtherTranslation: 0.7, saying: 0.7 };
const chineseWord = new RegExp(`^\\p{Script=Han}{${dictionaryWords.shortest},${dictionaryWords.longest}}$`, 'u');
const none: ReadonlyMap<string, number> = new Map();

const meanings = new Map<string, Map<string, number>>();

/** Terms of the index that mean about what the word does, each with what it counts. A Chinese word that the glossary lacks is looked up. */
export const meaningsOf = (word: string): ReadonlyMap<string, number> =>
  meanings.get(word) ?? lookedUp(word)[0] ?? none;

/** What a word says besides what it means: `remember` is about a memory, and creates something there. */
const saidAsWell = new Map<string, ReadonlyMap<string, number>[]>();
const phrases = new Set<string>();

export const alsoSaidBy = (word: string): readonly ReadonlyMap<string, number>[] =>
  saidAsWell.get(word) ?? (meanings.has(word) ? [] : lookedUp(word).slice(1));

const lookedUp = (word: string) => (chineseWord.test(word) ? translationsOf(word) : []);

/** Whether the stems of words beside each other, joined by hyphens, say something that none of them says. */
export const isPhrase = (words: string): boolean => phrases.has(words);

for (const row of [...actions, ...things, ...softwareThings, ...everydayThings]) {
  const [english = '', chinese = ''] = row.split('=');
  addRow(wordsIn(english), wordsIn(chinese));
}
for (const row of [...products, ...sayings, ...chineseSayings]) {
  const [said = '', written = ''] = row.split('>');
  addSaying(wordsIn(said), written.split('+').map(wordsIn));
}

/** In characters. */
export const longestEntry = Math.max(
  dictionaryWords.longest,
  ...[...meanings.keys()].map((word) => charactersOf(word).length),
);

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

/** What is said, in either language, stands for what is written in definitions, and not the other way round. */
function addSaying(said: readonly string[], written: readonly (readonly string[])[]): void {
  for (const saying of said) {
    const word = saying.replace('^', '^-').split('-').map(stemOf).join('-');
    if (/[-^]/.test(saying)) phrases.add(word);
    const [first, ...more] = written.map(sharesOf);
    for (const [term, share] of first!) addMeaning(word, term, share);
    if (more.length > 0) saidAsWell.set(word, [...(saidAsWell.get(word) ?? []), ...more]);
  }
}

function sharesOf(written: readonly string[]): Map<string, number> {
  return new Map(
    written.flatMap((word, at) =>
      termsOf(stemOf(word)).map((term): [string, number] => [term, at === 0 ? shares.translation : shares.saying]),
    ),
  );
}

function addMeaning(word: string, term: string, share: number): void {
  const known = meanings.get(word) ?? new Map<string, number>();
  meanings.set(word, known.set(term, Math.max(share, known.get(term) ?? 0)));
}

/** A word as it stands in the index: Chinese in pairs. */
function termsOf(word: string): string[] {
  const pairs = /\p{Script=Han}/u.test(word) ? pairsOf(word) : [];
  return pairs.length > 0 ? pairs : [word];
}

function wordsIn(text: string): string[] {
  return text.split(' ').filter((word) => word !== '');
}
