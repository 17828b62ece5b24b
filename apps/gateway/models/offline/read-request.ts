// Splits a request into clauses, and reads the words and values of each.
import { findValues, mask, type FoundValues } from './find-values.js';
import { readWords, tokensOf, type Token, type Words } from './words.js';

export interface Clause {
  text: string;
  words: Words;
  /** The words outside of URLs, paths, quotations and the like. */
  tokens: Token[];
  values: FoundValues;
}

const breaks =
  /(?:，|,)?\s{0,3}(?:然后|接着|之后再|之后|随后|最后|并且|同时|并(?!不|非|行)|再(?!见)|(?:\band\s+)?\bthen\b|\bafter that\b|\bfinally\b|\band\b)|[，；。！!;\n]+|,\s|(?<=[\p{L}\uFFFC])[.?？]\s+/giu;
const greeting =
  /^[\s\p{P}]*(?:hi|hello|hey|thanks|thank you|good (?:morning|evening|afternoon)|how are you|who are you|what can you do|what are you|bye|你好|您好|嗨|早上好|晚上好|谢谢|多谢|再见|你是谁|你能做什么|在吗)(?![a-z])/iu;
const question =
  /[?？]|^\s*(?:how|what|why|when|where|who|which|is|are|do|does|did|can|could|should|will|would)\b|吗|呢|什么|为什么|如何|怎么|怎样|多少|哪|谁|是否|请问/i;
/** Asks for something in a result. */
export const asks =
  /[?？]|告诉|说说|是什么|多少|哪|谁|什么|提取|找出|几|\b(?:what|which|who|whose|when|where|how|tell|give|extract|get)\b|的\p{Script=Han}{1,6}[。！]?\s*$/iu;
/** The English of 有哪些文件: words that say nothing alone. */
const asksWhichFiles = /\b(?:what|which) files\b/i;
const currency = /\b(?:usd|eur|cny|jpy|gbp|dollars?|euros?|yen|yuan|rmb)\b|美元|欧元|日元|人民币|英镑/i;
const mostClauses = 12;

export function isGreeting(text: string): boolean {
  return text.length < 60 && greeting.test(text);
}

export function isQuestion(text: string): boolean {
  return question.test(text) && !isGreeting(text);
}

export interface Part {
  text: string;
  /** Behind a word like “then” or “and”: another task, not a detail of the one before. */
  follows: boolean;
}

/** Splits a request into tasks, never inside a quotation, URL or path. */
export function splitClauses(text: string, now: number): Part[] {
  const { masked } = findValues(text, now);
  const parts: Part[] = [];
  let from = 0;
  let follows = false;
  const add = (end?: number) => {
    const part = text.slice(from, end).trim();
    if (part === '') return;
    parts.push({ text: part, follows });
    follows = false;
  };
  for (const match of masked.matchAll(breaks)) {
    if (parts.length >= mostClauses) break;
    const next = match.index + match[0].length;
    // “and” joins tasks only if an action follows.
    if (/and$/i.test(match[0]) && !startsTask(masked.slice(next, next + 60))) continue;
    add(match.index);
    from = next;
    follows ||= /[\p{L}]/u.test(match[0]);
  }
  add();
  return parts;
}

function startsTask(text: string): boolean {
  const tokens = tokensOf(text).filter(({ text: word }) => !/^(?:also|please|finally)$/i.test(word));
  const [first] = tokens;
  if (first === undefined) return false;
  return startsWithVerb(tokens) || first.actions.length > 0 || /^(?:tell|give|get|let|say)$/i.test(first.text);
}

/** “email it”, “order a pizza”: a verb, though the lexicon may have no such action. */
export function startsWithVerb([first, second]: readonly Token[]): boolean {
  if (first === undefined || second === undefined || first.kind === 'small' || !/^[a-z]/.test(first.text)) return false;
  return /^(?:it|them|him|her|me|us|my|your|our|this|that|these|those|an?)$/i.test(second.text);
}

export function readClause(text: string, now: number): Clause {
  const values = findValues(text, now);
  const plain = values.masked.replaceAll(mask, ' ');
  const words = readWords(plain);
  const { urls, paths } = values;
  const tokens = tokensOf(values.masked);
  if (asksWhichFiles.test(plain)) {
    words.actions.add('list');
    words.things.add('directory');
  }
  if (words.actions.size === 0 && urls.length + paths.length > 0 && !startsWithVerb(tokens))
    words.actions.add(urls.length > 0 ? 'fetch' : 'read');
  if (urls.length > 0) words.things.add('web');
  if (paths.some((path) => !path.text.endsWith('/'))) words.things.add('file');
  if (currency.test(values.masked)) words.things.add('currency');
  if (values.expression !== undefined) words.actions.add('calculate');
  return { text, words, tokens, values };
}
