// Reads words in English or Chinese text: concepts of the vocabulary, small words, and others. Linear in the text.
import { smallWords, verbs, vocabulary } from './vocabulary.js';

export interface Token {
  text: string;
  start: number;
  /** The word's meaning to the planner: concepts of the vocabulary, else its stem; nothing for a small word. */
  terms: readonly string[];
  /** `small` words mean nothing by themselves; `other` ones are names, topics and the like. */
  kind: 'known' | 'small' | 'other' | 'number' | 'mark';
}

const pieces = /\p{Script=Han}+|[\p{L}\p{M}\d](?:(?!\p{Script=Han})[\p{L}\p{M}\d'’-])*|\S/gu;
const segmenter = new Intl.Segmenter('zh', { granularity: 'word' });
const longestTerm = 4;

const conceptsOf = new Map<string, string[]>();
const wordsOf = new Map<string, string[]>();
for (const [concept, row] of vocabulary) {
  wordsOf.set(concept, wordsIn(row));
  for (const term of wordsIn(row).map(stem)) conceptsOf.set(term, [...(conceptsOf.get(term) ?? []), concept]);
}
const smallTerms = new Set(wordsIn(smallWords).map(stem));

export function wordsIn(row: string): string[] {
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

/** Splits `loadDocument`, `load_document`, `load-document` and `files/load` into words, in lower case. */
export function splitName(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/[_\-./:]+/g, ' ').trim().toLowerCase(); // prettier-ignore
}

export function tokenize(text: string): Token[] {
  return Array.from(text.matchAll(pieces)).flatMap(({ 0: piece, index: start }) => {
    if (hasHan(piece)) return hanTokens(piece, start);
    return [tokenFor(piece.replace(/['’]s$/, ''), start)];
  });
}

function tokenFor(text: string, start: number): Token {
  if (!/[\p{L}\d]/u.test(text)) return { text, start, terms: [], kind: 'mark' };
  const term = stem(text.toLowerCase());
  const concepts = conceptsOf.get(term);
  if (concepts !== undefined) return { text, start, terms: concepts, kind: 'known' };
  if (smallTerms.has(term)) return { text, start, terms: [], kind: 'small' };
  return { text, start, terms: [term], kind: /^\d+$/.test(text) ? 'number' : 'other' };
}

/** The longest term of the vocabulary at each place, or the segmenter's word if that is longer: 上海 does not begin with 上. */
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
  return conceptsOf.has(text) || smallTerms.has(text);
}

export function termsOf(text: string): Set<string> {
  return new Set(tokenize(text.normalize('NFKC')).flatMap(({ terms }) => terms));
}

export function isVerb({ terms }: Token): boolean {
  return terms.some((term) => verbs.has(term));
}

export function wordsForName(name: string): string[] {
  const words = splitName(name);
  const bare = words.replace(/ (?:id|name|number|key)s?$/, '');
  const alike = [...termsOf(words)].flatMap((term) => wordsOf.get(term) ?? []);
  return [...new Set([words, bare, ...alike])].filter((word) => word.length > 1 || hasHan(word));
}

/** The names and topics of a text, unchanged: runs of words that are neither known nor small. None begins with `except`. */
export function topicsIn(
  tokens: readonly Token[],
  text: string,
  except?: ReadonlySet<string>,
): Pick<Token, 'text' | 'start'>[] {
  const topics: Pick<Token, 'text' | 'start'>[] = [];
  for (const { text: word, start, terms, kind } of tokens) {
    const last = topics.at(-1);
    const between = last === undefined ? undefined : text.slice(last.start + last.text.length, start);
    if (kind !== 'other') continue;
    if (last !== undefined && (between === '' || between === ' ')) last.text += between + word;
    else if (!terms.some((term) => except?.has(term))) topics.push({ text: word, start });
  }
  return topics;
}

/** The main language of the text without URLs and quotations. */
export function languageOfRequest(text: string): 'zh' | 'en' {
  const start = text.slice(0, 4000);
  const bare = start.replace(/https?:\/\/\S+|[“「"'][^”」"']*[”」"']/g, ' ').trim() || start;
  const han = bare.match(/\p{Script=Han}/gu)?.length ?? 0;
  return han > 0 && han >= (bare.match(/[A-Za-z]{2,}/g)?.length ?? 0) ? 'zh' : 'en';
}
