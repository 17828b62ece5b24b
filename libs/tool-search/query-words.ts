// What a query asks for, word by word. Each word has the terms that stand for it in definitions: itself, and by the glossary what means
// about the same, in English and in Chinese.
import { charactersOf, pairsOf, runsOf } from '#libs/words/script-runs.js';
import { alsoSaidBy, isPhrase, longestEntry, meaningsOf } from './glossary/glossary.js';
import { isFiller } from './glossary/fillers.js';
import { indexedForm, splitWord, stemOf } from './read-words.js';
import { withoutExamples } from './query-examples.js';

export interface QueryWord {
  /** As it is in the index. */
  word: string;
  weight: number;
  /** Each with its share: what it counts as of the word. */
  terms: ReadonlyMap<string, number>;
}

/** `own` are terms that are the word itself. False if there are words enough. */
type AddWord = (word: string, weight?: number, own?: readonly string[]) => boolean;

/** What is beyond is not read: a question has some words, not a document. */
const maxQuery = 2_000;
const maxWords = 48;
/** A single character says little. */
const characterWeight = 0.3;
/** What a word says besides counts less than what it means. */
const alsoWeight = 0.8;

/** What is quoted is often no word of the question, but a text that a tool is to be given. */
const quotedWeight = 0.3;

export function queryWords(query: string): QueryWord[] {
  const words = new Map<string, QueryWord>();
  const { text, said, quoted } = withoutExamples(query.slice(0, maxQuery));
  const addTo =
    (share: number): AddWord =>
    (word, weight = 1, own = [word]) => {
      if (words.has(word) || words.size >= maxWords) return words.size < maxWords;
      const terms = new Map([...meaningsOf(word), ...own.map((term) => [term, 1] as const)]);
      words.set(word, { word, weight: weight * share, terms });
      for (const [at, also] of alsoSaidBy(word).entries()) {
        const [first = word] = also.keys();
        words.set(`${word} ${at}`, { word: first, weight: weight * share * alsoWeight, terms: also });
      }
      return true;
    };
  for (const word of said) addTo(1)(stemOf(word));
  addText(text, addTo(1));
  addText(quoted, addTo(quotedWeight));
  return [...words.values()].slice(0, maxWords);
}

function addText(text: string, add: AddWord): void {
  let neighbours: string[] = [];
  let begins = true;
  for (const run of runsOf(text)) {
    if (!run.cjk) neighbours.push(...splitWord(run.text));
    else {
      addLatin(neighbours, begins, add);
      neighbours = [];
      begins = false;
      for (const part of partsOf(charactersOf(run.text))) if (!addPart(part, add)) return;
    }
  }
  addLatin(neighbours, begins, add);
}

function addPart({ text, known }: Part, add: AddWord): boolean {
  const pairs = pairsOf(text);
  if (known) return add(text, 1, [text, ...pairs]);
  if (pairs.length > 0) return pairs.map((pair) => add(pair)).every(Boolean);
  return add(text, characterWeight);
}

/**
 * Words beside each other: what they say together (`turn down`), else each of them. With its neighbour a word may be one name:
 * `on call`, `Argo CD`.
 */
function addLatin(words: readonly string[], begins: boolean, add: AddWord): void {
  for (let at = 0; at < words.length; at += 1) {
    const length = [3, 2].find((count) => isPhrase(phraseOf(words, at, count))) ?? 1;
    const word = stemOf(words[at]!);
    const isFirst = begins && words.slice(0, at).every((before) => indexedForm(before).length === 0);
    if (length > 1) add(phraseOf(words, at, length), 1, []);
    else if (isFirst && isPhrase(`^-${word}`)) add(`^-${word}`, 1, []);
    else if (indexedForm(words[at]!).length === 0 && alsoSaidBy(word).length > 0) add(word, 1, []);
    else {
      const names = [words.slice(at - 1, at + 1), words.slice(at, at + 2)].filter((pair) => pair.length === 2);
      const terms = names.map((pair) => stemOf(pair.join('')));
      for (const word of indexedForm(words[at]!)) add(word, 1, [word, ...terms]);
    }
    at += length - 1;
  }
}

const phraseOf = (words: readonly string[], at: number, count: number): string =>
  at + count > words.length
    ? ''
    : words
        .slice(at, at + count)
        .map(stemOf)
        .join('-');

interface Part {
  text: string;
  known: boolean;
}

/** Chinese by the words that are known, the longest first; what is between them stays together. */
function* partsOf(characters: readonly string[]): Generator<Part> {
  let between = '';
  for (let at = 0; at < characters.length;) {
    const word = knownWordAt(characters, at);
    if (word === undefined && between.length < maxWords) between += characters[at]!;
    else {
      if (between !== '') yield { text: between, known: false };
      between = word === undefined ? characters[at]! : '';
      if (word !== undefined && !isFiller(word)) yield { text: word, known: true };
    }
    at += word === undefined ? 1 : charactersOf(word).length;
  }
  if (between !== '') yield { text: between, known: false };
}

function knownWordAt(characters: readonly string[], at: number): string | undefined {
  for (let length = Math.min(longestEntry, characters.length - at); length > 0; length -= 1) {
    const word = characters.slice(at, at + length).join('');
    if (meaningsOf(word).size > 0 || isFiller(word)) return word;
  }
  return undefined;
}
