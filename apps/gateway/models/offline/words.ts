// Turns text of either language into words and concepts by lookup in the lexicon: linear in the text, no grammar.
import { ACTIONS, SMALL_WORDS, THINGS, VALUES } from './lexicon.js';

const LONGEST_TERM = 4;

export interface Words {
  actions: Set<string>;
  things: Set<string>;
  values: Set<string>;
  /** What the lexicon does not know: Latin stems and Chinese bigrams, small words left out. */
  rest: Set<string>;
}

interface Entry {
  kind: 'actions' | 'things' | 'values';
  concept: string;
}

function parse(row: string): string[] {
  return row.split(/[ |]/).map((term) => term.replaceAll('_', ' '));
}

function buildIndex(): Map<string, Entry[]> {
  const index = new Map<string, Entry[]>();
  const tables = { actions: ACTIONS, things: THINGS, values: VALUES } as const;
  for (const kind of ['actions', 'things', 'values'] as const) {
    for (const [concept, row] of Object.entries(tables[kind])) {
      for (const term of parse(row)) {
        const key = hasHan(term) ? term : term.split(' ').map(stem).join(' ');
        index.set(key, [...(index.get(key) ?? []), { kind, concept }]);
      }
    }
  }
  return index;
}

/** All terms of a lexicon row, and of the concept's row. */
export const termsOf = parse;

export function hasHan(text: string): boolean {
  return /\p{Script=Han}/u.test(text);
}

/** A light stem: plural, -ing, -ed and a last e, as both sides are stemmed alike. */
export function stem(word: string): string {
  let root = word;
  if (root.length > 4 && root.endsWith('ies')) root = `${root.slice(0, -3)}y`;
  else if (root.length > 3 && root !== 'news' && root.endsWith('s') && !/(?:ss|us|is)$/.test(root)) {
    root = root.slice(0, -1);
  }
  if (root.length > 5 && root.endsWith('ing')) root = root.slice(0, -3).replace(/([^lsd])\1$/, '$1');
  else if (root.length > 4 && root.endsWith('ed')) root = root.slice(0, -2).replace(/([^lsd])\1$/, '$1');
  return root.length > 3 && root.endsWith('e') ? root.slice(0, -1) : root;
}

const index = buildIndex();
const smallStems = new Set([...SMALL_WORDS].map(stem));

/** `loadDocument`, `load_document`, `load-document` and `files/load` are all words. */
export function splitName(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[_\-./:]+/g, ' ');
}

export function readWords(text: string): Words {
  const words: Words = { actions: new Set(), things: new Set(), values: new Set(), rest: new Set() };
  const pieces =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/\p{Script=Han}+|[\p{L}\p{M}\d]+/gu) ?? [];
  let previous = '';
  for (const piece of pieces) {
    if (hasHan(piece)) {
      readHan(piece, words);
      previous = '';
      continue;
    }
    const word = stem(piece);
    note(index.get(`${previous} ${word}`), words);
    if (!note(index.get(word), words) && !smallStems.has(word)) words.rest.add(word);
    previous = word;
  }
  return words;
}

function note(entries: Entry[] | undefined, words: Words): boolean {
  for (const entry of entries ?? []) words[entry.kind].add(entry.concept);
  return entries !== undefined;
}

function readHan(run: string, words: Words): void {
  let unknown = '';
  for (let at = 0; at < run.length;) {
    const term = longestTerm(run, at);
    if (term === '') {
      unknown += run[at];
      at += 1;
      continue;
    }
    addBigrams(unknown, words);
    unknown = '';
    note(index.get(term), words);
    at += term.length;
  }
  addBigrams(unknown, words);
}

function longestTerm(run: string, at: number): string {
  for (let length = Math.min(LONGEST_TERM, run.length - at); length > 0; length -= 1) {
    const term = run.slice(at, at + length);
    if (index.has(term) || SMALL_WORDS.has(term)) return term;
  }
  return '';
}

function addBigrams(run: string, words: Words): void {
  if (run.length === 1) words.rest.add(run);
  for (let at = 0; at + 2 <= run.length; at += 1) words.rest.add(run.slice(at, at + 2));
}

/** The runs of a text that are neither small words, verbs nor things: names, topics, places. In order, as written. */
export function topics(text: string): string[] {
  const found: string[] = [];
  let latin = '';
  const flush = () => {
    if (latin !== '') found.push(latin);
    latin = '';
  };
  for (const match of text.matchAll(/\p{Script=Han}+|[\p{L}\p{M}\d][\p{L}\p{M}\d'’-]*|[^\s]/gu)) {
    const piece = match[0];
    if (hasHan(piece)) {
      flush();
      found.push(...hanTopics(piece));
      continue;
    }
    const word = stem(piece.toLowerCase().replace(/['’]s$/, ''));
    if (/^[\p{L}\p{M}\d]/u.test(piece) && !smallStems.has(word) && !index.has(word)) {
      latin = latin === '' ? piece.replace(/['’]s$/, '') : `${latin} ${piece.replace(/['’]s$/, '')}`;
    } else flush();
  }
  flush();
  return found;
}

const segmenter = new Intl.Segmenter('zh', { granularity: 'word' });

function hanTopics(run: string): string[] {
  const found: string[] = [];
  let topic = '';
  let knownTo = 0;
  for (const { segment, index: at } of segmenter.segment(run)) {
    // A term of ours may span several of the segmenter's words.
    if (at >= knownTo) knownTo = at + Math.max(longestTerm(run, at).length, isKnown(segment) ? segment.length : 0);
    if (knownTo < at + segment.length) topic += segment;
    else if (topic !== '') {
      found.push(topic);
      topic = '';
    }
  }
  if (topic !== '') found.push(topic);
  return found;
}

/** A word made of known terms only; a place like 上海 begins with a small word and is none. */
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

/** Chinese when the text, its names and addresses apart, is written in it. */
export function languageOf(text: string): 'zh' | 'en' {
  const bare = text.slice(0, 4000).replace(/https?:\/\/[^\s]{1,500}|[“「"'][^”」"']{0,200}[”」"']/g, ' ');
  const source = bare.trim() === '' ? text.slice(0, 4000) : bare;
  const han = (source.match(/\p{Script=Han}/gu) ?? []).length;
  const latin = (source.match(/[A-Za-z]{2,}/g) ?? []).length;
  return han > 0 && han >= latin ? 'zh' : 'en';
}
