// Splits a request into clauses, each a task of its own, and finds the free text in one: what to write, what to search for.
import { findValues, mask, type Found, type FoundValues } from './find-values.js';
import { isVerb, termsOf, tokenize, topicsIn, type Token } from './words.js';

export interface Clause {
  text: string;
  /** The words outside of URLs, paths, quotations and the like. */
  tokens: Token[];
  terms: Set<string>;
  values: FoundValues;
  /** The clause begins with a verb that the vocabulary does not have, like “email it”. */
  isStrange: boolean;
}

export interface ClausePart {
  text: string;
  /** Behind a word like “then” a part is a task, even without a known verb. */
  follows: boolean;
}

const then = /(?:[，,]|\band)?\s{0,3}(?:然后|接着|之后|随后|最后|再(?!见)|\bthen\b|\bafter that\b|\bfinally\b)/giu;
const breaks = new RegExp(`${then.source}|(?:，|,)?\\s{0,3}(?:并且|同时|并(?!不|非|行)|\\band\\b)|[，；。！!;\\n]+|,\\s|(?<=[\\p{L}\\uFFFC])[.?？]\\s+`, 'giu'); // prettier-ignore
const greeting =
  /^[\s\p{P}]*(?:hi|hello|hey|thanks|thank you|good (?:morning|evening|afternoon)|how are you|who are you|what can you do|what are you|bye|你好|您好|嗨|早上好|晚上好|谢谢|多谢|再见|你是谁|你能做什么|在吗)(?![a-z])/iu;
const question =
  /[?？]|告诉|说说|是什么|多少|哪|谁|什么|为什么|如何|怎[么样]|是否|吗|提取|找出|几|\b(?:what|which|who|whose|when|where|how|why|tell|give|extract)\b|的\p{Script=Han}{1,6}[。！]?\s*$/iu;
const mostParts = 12;

export function isGreeting(text: string): boolean {
  return text.length < 60 && greeting.test(text);
}

export function isQuestion(text: string): boolean {
  return question.test(text) && !isGreeting(text);
}

/** Splits a request into tasks, never inside a quotation, URL or path: at a word like “then”, and before a verb. */
export function splitRequest(text: string, now: number): ClausePart[] {
  const { masked } = findValues(text, now);
  const parts: ClausePart[] = [];
  let from = 0;
  let follows = false;
  const add = (end?: number) => {
    const part = text.slice(from, end).trim();
    if (part !== '') parts.push({ text: part, follows });
  };
  for (const { 0: said, index } of masked.matchAll(breaks)) {
    if (parts.length >= mostParts) break;
    const next = index + said.length;
    const isThen = said.search(then) >= 0;
    if (!isThen && !startsTask(masked.slice(next, next + 60))) continue;
    add(index);
    from = next;
    follows = isThen || /and/i.test(said);
  }
  add();
  return parts;
}

function startsTask(text: string): boolean {
  const tokens = tokenize(text).filter(({ text: word }) => !/^(?:also|please|finally|请)$/i.test(word));
  const [first, second] = tokens;
  if (first === undefined) return false;
  // “email it”, “order a pizza”, “tell me”: verbs, though the vocabulary may not have them.
  const isVerbOf = /^(?:it|them|him|her|me|us|my|your|our|this|that|these|those|an?)$/i.test(second?.text ?? '');
  return isVerb(first) || (isVerbOf && /^[a-z]/.test(first.text));
}

export function readClause(text: string, now: number): Clause {
  const values = findValues(text, now);
  const plain = values.masked.replaceAll(mask, ' ');
  const tokens = tokenize(plain);
  const terms = termsOf(plain);
  if (values.urls.length > 0) terms.add('web');
  if (values.paths.some((path) => !path.text.endsWith('/'))) terms.add('file');
  if (/\b(?:what|which) files\b/i.test(text)) terms.add('list').add('directory');
  const isStrange = !tokens.some(isVerb) && startsTask(text);
  if (!isStrange && !tokens.some(isVerb) && values.urls.length + values.paths.length > 0)
    terms.add(values.urls.length > 0 ? 'fetch' : 'read');
  return { text, tokens, terms, values, isStrange };
}

const said =
  /(?:\b(?:saying(?: that)?|(?:that|which) says|containing|with (?:the )?(?:text|contents?|message|words?|body)(?: of)?)|(?:内容|正文)[是为:：]|写着)\s*[:：]?\s*/i;
const given = [
  /(?:把|将)([^\n]{1,2000}?)(?:追加|翻译|译成|写入|写到|写进|保存|存入|存到|存为|存|写|发|总结|分析|添加|记)/,
  /\b(?:write|save|store|put|append|add|record|translate|summari[sz]e|analy[sz]e)\s+(?:down\s+)?([^\n]{1,2000}?)(?=\s+(?:to|into|in|as|on|onto|from)\s|\s*$)/i,
];
const pointsBack =
  /^(?:it|this|that|them|these|those|both|everything|the|its|their)\b|^(?:它|其|这|那|以上|上面|结果|内容|全文)/i;
/** Texts that somebody would have to compose: “a poem”, 一首诗. */
const described = /^(?:an?|some)\s(?!copy\b)|^[一几两]?[首篇段封份则]/i;

/** The text in the clause to write, send or translate. Undefined if the clause refers to another text, null if it describes one. */
export function contentIn({ text, values: { masked, quotes } }: Clause): string | null | undefined {
  if (quotes.length > 0)
    return quotes.reduce((left, right) => (right.text.length > left.text.length ? right : left)).text;
  const marked = said.exec(masked) ?? /(?<!\d)[:：]\s*(?=\S)/.exec(masked);
  if (marked !== null) return text.slice(marked.index + marked[0].length).trim();
  for (const pattern of given) {
    const found = pattern.exec(masked)?.[1]?.trim().replace(/的$/, '') ?? '';
    // Words like “the weather” or 内容 refer to the result of another step.
    if (found === '' || found.includes(mask) || pointsBack.test(found)) continue;
    if (described.test(found)) return null;
    if (topicsIn(tokenize(found), found).length > 0) return found;
  }
  return undefined;
}

/** The search query: the text behind “for” or 关于, else behind the verb. */
export function queryIn(clause: Clause): string | undefined {
  const about = /(?:\b(?:for|about|regarding)\s+|关于|有关)([^\n?.!,;，。；！？\uFFFC]{1,200})/i.exec(
    clause.values.masked,
  )?.[1];
  const query = about?.replace(/\s+(?:in|on|from|using|with|limit|top|please)\b.*$/i, '').replace(/的$/, '');
  return query?.trim() || behindVerb(clause);
}

/** The text behind the first verb, from the first word on that is neither known nor small: 提醒我开会. */
export function behindVerb({ tokens, values: { masked } }: Clause): string | undefined {
  const at = tokens.findIndex(isVerb);
  const first = tokens.slice(at + 1).find(({ kind }) => kind === 'other' || kind === 'number');
  return first && /^[^，。？！；,?!;\n\uFFFC]*/.exec(masked.slice(first.start))![0].replace(/\.?\s*$/, '');
}

const toBefore = /(?:\b(?:to|into|as|in|onto)|到|入|为|成|进|换|往|去)\s?["“'「`]?(?:the\s+)?(?:file\s+)?$/i;
const fromBefore = /(?:\b(?:from|of|read|open)|从|把|将|由)\s?["“'「`]?(?:the\s+)?(?:file\s+)?$/i;

/** The value after a word like “to”/到 (target) or “from”/从 (source). */
export function directed(found: readonly Found[], text: string, role: 'source' | 'target'): Found | undefined {
  const [own, other] = role === 'target' ? [toBefore, fromBefore] : [fromBefore, toBefore];
  const before = ({ start }: Found) => text.slice(Math.max(0, start - 16), start);
  const left = found.filter((item) => !other.test(before(item)));
  return found.find((item) => own.test(before(item))) ?? (role === 'target' ? left.at(-1) : left[0]);
}
