// Finds the lexicon's concepts, and other words, in English or Chinese text. Linear in the text.
import { actionWords, smallWords, thingWords, valueWords } from './lexicon.js';

export interface Words {
  actions: Set<string>;
  things: Set<string>;
  values: Set<string>;
  /** Words that are not in the lexicon: Latin stems and Chinese bigrams, without small words. */
  rest: Set<string>;
}

const hanPattern = /\p{Script=Han}/u;
const pieces = /\p{Script=Han}+|[\p{L}\p{M}\d]+/gu;
const topicPieces = /\p{Script=Han}+|[\p{L}\p{M}\d][\p{L}\p{M}\d'’-]*|[^\s]/gu;
const longestTermLength = 4;
const segmenter = new Intl.Segmenter('zh', { granularity: 'word' });

const index = new Map<string, [kind: keyof Words, concept: string][]>();
for (const [kind, table] of [['actions', actionWords], ['things', thingWords], ['values', valueWords]] as const) {
  for (const [concept, row] of Object.entries(table)) {
    for (const term of termsOf(row)) {
      const key = hasHan(term) ? term : term.split(' ').map(stem).join(' ');
      index.set(key, [...(index.get(key) ?? []), [kind, concept]]);
    }
  }
} // prettier-ignore
const smallStems = new Set([...smallWords].map(stem));

export function termsOf(row: string): string[] {
  return row.split(/[ |]/).map((term) => term.replaceAll('_', ' '));
}

export function hasHan(text: string): boolean {
  return hanPattern.test(text);
}

/** A simple stem, without plural, -ing, -ed and final e. Good enough, since both sides are stemmed alike. */
function stem(word: string): string {
  let root = word;
  if (root.length > 4 && root.endsWith('ies')) root = `${root.slice(0, -3)}y`;
  else if (root.length > 3 && root !== 'news' && /[^sui]s$/.test(root)) root = root.slice(0, -1);
  const ending = root.length > 5 && root.endsWith('ing') ? 3 : root.length > 4 && root.endsWith('ed') ? 2 : 0;
  if (ending > 0) root = root.slice(0, -ending).replace(/([^lsd])\1$/, '$1');
  return root.length > 3 && root.endsWith('e') ? root.slice(0, -1) : root;
}

/** Splits `loadDocument`, `load_document`, `load-document` and `files/load` into words. */
export function splitName(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/[_\-./:]+/g, ' ');
}

export function readWords(text: string): Words {
  const words: Words = { actions: new Set(), things: new Set(), values: new Set(), rest: new Set() };
  let previous = '';
  for (const [piece] of text.normalize('NFKC').toLowerCase().matchAll(pieces)) {
    if (hasHan(piece)) {
      readHan(piece, words);
      previous = '';
      continue;
    }
    const word = stem(piece);
    note(`${previous} ${word}`, words);
    if (!note(word, words) && !smallStems.has(word)) words.rest.add(word);
    previous = word;
  }
  return words;
}

function note(term: string, words: Words): boolean {
  const entries = index.get(term);
  for (const [kind, concept] of entries ?? []) words[kind].add(concept);
  return entries !== undefined;
}

function readHan(text: string, words: Words): void {
  let unknown = '';
  for (let at = 0; at <= text.length;) {
    const term = longestTerm(text, at);
    if (term === '' && at < text.length) {
      unknown += text[at];
      at += 1;
      continue;
    }
    if (unknown.length === 1) words.rest.add(unknown);
    for (let from = 0; from + 2 <= unknown.length; from += 1) words.rest.add(unknown.slice(from, from + 2));
    unknown = '';
    note(term, words);
    at += Math.max(1, term.length);
  }
}

function longestTerm(text: string, at: number): string {
  for (let length = Math.min(longestTermLength, text.length - at); length > 0; length -= 1) {
    const term = text.slice(at, at + length);
    if (index.has(term) || smallWords.has(term)) return term;
  }
  return '';
}

/** The parts of a text that are not in the lexicon (names, topics, places), in order and unchanged. */
export function topics(text: string): string[] {
  const found: string[] = [];
  let latin = '';
  for (const [piece] of text.matchAll(topicPieces)) {
    const plain = piece.replace(/['’]s$/, '');
    const word = stem(plain.toLowerCase());
    if (!hasHan(piece) && /^[\p{L}\p{M}\d]/u.test(piece) && !smallStems.has(word) && !index.has(word)) {
      latin = latin === '' ? plain : `${latin} ${plain}`;
      continue;
    }
    if (latin !== '') found.push(latin);
    latin = '';
    if (hasHan(piece)) found.push(...hanTopics(piece));
  }
  return latin === '' ? found : [...found, latin];
}

function hanTopics(text: string): string[] {
  const found: string[] = [];
  let topic = '';
  let knownTo = 0;
  for (const { segment, index: at } of segmenter.segment(text)) {
    // A term of the lexicon may span several words of the segmenter.
    if (at >= knownTo) knownTo = at + Math.max(longestTerm(text, at).length, isKnown(segment) ? segment.length : 0);
    if (knownTo < at + segment.length) topic += segment;
    else if (topic !== '') {
      found.push(topic);
      topic = '';
    }
  }
  return topic === '' ? found : [...found, topic];
}

/** Whether a word consists of known terms only. 上海 does not, though it starts with the small word 上. */
function isKnown(word: string): boolean {
  for (let at = 0; at < word.length;) {
    const term = longestTerm(word, at);
    if (term === '') return false;
    at += term.length;
  }
  return true;
}

export function shared(left: ReadonlySet<string>, right: ReadonlySet<string>): string[] {
  return [...left].filter((value) => right.has(value));
}

/** The main language of the text without URLs and quotations. */
export function languageOf(text: string): 'zh' | 'en' {
  const bare = text.slice(0, 4000).replace(/https?:\/\/[^\s]{1,500}|[“「"'][^”」"']{0,200}[”」"']/g, ' ');
  const source = bare.trim() === '' ? text.slice(0, 4000) : bare;
  const han = source.match(/\p{Script=Han}/gu)?.length ?? 0;
  return han > 0 && han >= (source.match(/[A-Za-z]{2,}/g)?.length ?? 0) ? 'zh' : 'en';
}
