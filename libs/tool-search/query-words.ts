// What a query asks for, word by word. Each word has the terms that stand for it in definitions: itself, and by the glossary what means
// about the same, in English and in Chinese.
import { charactersOf, pairsOf, runsOf } from '#libs/words/script-runs.js';
import { meaningsOf, longestEntry } from './glossary/glossary.js';
import { partsOfWord } from './read-words.js';

export interface QueryWord {
  weight: number;
  /** Each with its share: what it counts as of the word. */
  terms: ReadonlyMap<string, number>;
}

/** What is beyond is not read: a question has some words, not a document. */
const maxQuery = 2_000;
const maxWords = 48;
/** A single character says little. */
const characterWeight = 0.3;

export function queryWords(query: string): QueryWord[] {
  const words = new Map<string, QueryWord>();
  const add = (word: string, weight = 1, pairs: readonly string[] = []) => {
    const own = [word, ...pairs].map((term): [string, number] => [term, 1]);
    if (!words.has(word)) words.set(word, { weight, terms: new Map([...meaningsOf(word), ...own]) });
  };
  for (const run of runsOf(query.slice(0, maxQuery))) {
    if (!run.cjk) for (const word of partsOfWord(run.text)) add(word);
    else for (const part of partsOf(charactersOf(run.text))) addPart(part);
  }
  return [...words.values()].slice(0, maxWords);

  function addPart({ text, known }: Part): void {
    const pairs = pairsOf(text);
    if (known) add(text, 1, pairs);
    else if (pairs.length > 0) for (const pair of pairs) add(pair);
    else add(text, characterWeight);
  }
}

interface Part {
  text: string;
  known: boolean;
}

/** Chinese by the words of the glossary, the longest first; what is between them stays together. */
function partsOf(characters: readonly string[]): Part[] {
  const parts: Part[] = [];
  let between = '';
  for (let at = 0; at < characters.length;) {
    const word = knownWordAt(characters, at);
    if (word === undefined) between += characters[at]!;
    else {
      if (between !== '') parts.push({ text: between, known: false });
      between = '';
      parts.push({ text: word, known: true });
    }
    at += word === undefined ? 1 : charactersOf(word).length;
  }
  if (between !== '') parts.push({ text: between, known: false });
  return parts;
}

function knownWordAt(characters: readonly string[], at: number): string | undefined {
  for (let length = Math.min(longestEntry, characters.length - at); length > 0; length -= 1) {
    const word = characters.slice(at, at + length).join('');
    if (meaningsOf(word).size > 0) return word;
  }
  return undefined;
}
