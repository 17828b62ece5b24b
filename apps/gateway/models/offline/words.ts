// Reads words in English or Chinese text: concepts of the lexicon, small words, and others. Linear in the text.
import { actionWords, smallWords, thingWords } from './lexicon.js';

export interface Words {
  actions: Set<string>;
  things: Set<string>;
  /** Stems of words that are not in the lexicon. */
  rest: Set<string>;
}

export interface Token {
  text: string;
  start: number;
  /** Concepts of the lexicon. */
  actions: string[];
  things: string[];
  /** `small` words mean nothing by themselves; `other` ones are names, topics and the like. */
  kind: 'known' | 'small' | 'other' | 'number' | 'mark';
}

const pieces = /\p{Script=Han}+|[\p{L}\p{M}\d](?:(?!\p{Script=Han})[\p{L}\p{M}\d'’-])*|\S/gu;
const segmenter = new Intl.Segmenter('zh', { granularity: 'word' });
const longestTerm = 4;

const index = new Map<string, Pick<Token, 'actions' | 'things'>>();
for (const [kind, table] of Object.entries({ actions: actionWords, things: thingWords })) {
  for (const [concept, row] of Object.entries<string>(table)) {
    for (const term of termsOf(row).map(stem)) {
      const entry = index.get(term) ?? { actions: [], things: [] };
      entry[kind as 'actions' | 'things'].push(concept);
      index.set(term, entry);
    }
  }
}
const smallTerms = new Set(termsOf(smallWords).map(stem));

export function termsOf(row: string): string[] {
  return row.split(/[ |]/).map((term) => term.replaceAll('_', ' '));
}

export function hasHan(text: string): boolean {
  return /\p{Script=Han}/u.test(text);
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

export function tokensOf(text: string): Token[] {
  return Array.from(text.matchAll(pieces)).flatMap(({ 0: piece, index: start }) => {
    if (hasHan(piece)) return hanTokens(piece, start);
    const word = piece.replace(/['’]s$/, '');
    const token = tokenFor(word, start);
    if (/^\d+$/.test(word)) return { ...token, kind: 'number' as const };
    return /[\p{L}\d]/u.test(word) ? token : { ...token, kind: 'mark' as const };
  });
}

function tokenFor(text: string, start: number): Token {
  const term = stem(text.toLowerCase());
  const known = index.get(term);
  const kind = known !== undefined ? 'known' : smallTerms.has(term) ? 'small' : 'other';
  return { text, start, kind, actions: known?.actions ?? [], things: known?.things ?? [] };
}

/** At each place the longest term of the lexicon, or the segmenter's word if that is longer: 上海 does not begin with 上. */
function hanTokens(run: string, start: number): Token[] {
  const segments = segmenter.segment(run);
  const tokens: Token[] = [];
  for (let at = 0; at < run.length;) {
    const { index: from, segment } = segments.containing(at)!;
    const wordLength = from + segment.length - at;
    let length = longestTerm;
    while (length > wordLength && !isTerm(run.slice(at, at + length))) length -= 1;
    tokens.push(tokenFor(run.slice(at, at + length), start + at));
    at += length;
  }
  return tokens;
}

function isTerm(text: string): boolean {
  return index.has(text) || smallTerms.has(text);
}

export function readWords(text: string): Words {
  const words: Words = { actions: new Set(), things: new Set(), rest: new Set() };
  for (const { text: word, actions, things, kind } of tokensOf(text.normalize('NFKC'))) {
    for (const action of actions) words.actions.add(action);
    for (const thing of things) words.things.add(thing);
    if (kind === 'other' || kind === 'number') words.rest.add(stem(word.toLowerCase()));
  }
  return words;
}

/** The names and topics of a text, unchanged: runs of words that are neither known nor small. None begins with `except`. */
export function topicsOf(text: string, except: ReadonlySet<string> = new Set()): { text: string; start: number }[] {
  const topics: { text: string; start: number }[] = [];
  for (const { text: word, start, kind } of tokensOf(text)) {
    if (kind !== 'other') continue;
    const last = topics.at(-1);
    const between = last === undefined ? undefined : text.slice(last.start + last.text.length, start);
    if (last !== undefined && (between === '' || between === ' ')) last.text += between + word;
    else if (!except.has(stem(word.toLowerCase()))) topics.push({ text: word, start });
  }
  return topics;
}

export function shared(left: ReadonlySet<string>, right: ReadonlySet<string>): string[] {
  return [...left].filter((value) => right.has(value));
}

/** The main language of the text without URLs and quotations. */
export function languageOf(text: string): 'zh' | 'en' {
  const start = text.slice(0, 4000);
  const bare = start.replace(/https?:\/\/\S+|[“「"'][^”」"']*[”」"']/g, ' ').trim() || start;
  const han = bare.match(/\p{Script=Han}/gu)?.length ?? 0;
  return han > 0 && han >= (bare.match(/[A-Za-z]{2,}/g)?.length ?? 0) ? 'zh' : 'en';
}
