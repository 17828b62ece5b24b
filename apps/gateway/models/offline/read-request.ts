// Splits a request into clauses, and reads the words, entities and quoted text of each.
import { findEntities, maskCharacter, type Entities, type Found } from './entities.js';
import { languages, thingWords, valueWords } from './lexicon.js';
import { arithmeticIn } from './calculate.js';
import type { Kind } from './tool-profile.js';
import { hasHan, readWords, splitName, termsOf, topics, type Words } from './words.js';

export interface Clause {
  text: string;
  lower: string;
  entities: Entities;
  words: Words;
  expression: string | undefined;
  /** Cached results, shared by all tools. */
  known: Map<string, unknown>;
}

const breaks =
  /[，；。！!;\n]+|,\s|(?<=[\p{L}\uFFFC])[.?？]\s+|(?:，|,)?\s{0,3}(?:然后|接着|之后再|之后|随后|最后|并且|同时|并(?!不|非|行)|再(?!见)|(?:\band\s+)?\bthen\b|\bafter that\b|\bafterwards\b|\bfinally\b|\band\b)/giu;
const firstWord = /^\s*(?:also\s+|please\s+|finally\s+|then\s+)?([A-Za-z]+)/;
const greeting =
  /^[\s\p{P}]*(?:hi|hello|hey|thanks|thank you|good (?:morning|evening|afternoon)|how are you|who are you|what can you do|what are you|bye|你好|您好|嗨|早上好|晚上好|谢谢|多谢|再见|你是谁|你能做什么|在吗)/iu;
const question =
  /[?？]|^\s*(?:how|what|why|when|where|who|which|is|are|do|does|did|can|could|should|will|would)\b|吗|呢|什么|为什么|如何|怎么|怎样|多少|哪|谁|是否|请问/i;
const mostClauses = 12;

export function isGreeting(text: string): boolean {
  return text.length < 60 && greeting.test(text);
}

export function isQuestion(text: string): boolean {
  return question.test(text) && !isGreeting(text);
}

/** Splits a request into tasks, never inside a quotation, URL or path. */
export function splitClauses(text: string): string[] {
  const { masked } = findEntities(text);
  const clauses: string[] = [];
  let from = 0;
  for (const match of masked.matchAll(breaks)) {
    if (clauses.length >= mostClauses) break;
    const next = match.index + match[0].length;
    const verb = firstWord.exec(masked.slice(next, next + 60))?.[1] ?? '';
    const doesMore = /^(?:tell|give|get|let|say)$/i.test(verb) || readWords(verb).actions.size > 0;
    if (/and$/i.test(match[0]) && !doesMore) continue;
    clauses.push(text.slice(from, match.index));
    from = next;
  }
  return [...clauses, text.slice(from)].map((clause) => clause.trim()).filter((clause) => clause !== '');
}

export function readClause(text: string): Clause {
  const entities = findEntities(text);
  const words = readWords(entities.masked.replaceAll(maskCharacter, ' '));
  const expression = arithmeticIn(text);
  const { urls, paths, moments } = entities;
  if (urls.length > 0) words.things.add('web');
  if (urls.length > 0 && words.actions.size === 0) words.actions.add('fetch');
  if (paths.some((path) => path.text.endsWith('/'))) words.things.add('directory');
  if (paths.some((path) => !path.text.endsWith('/'))) words.things.add('file');
  if (entities.emails.length > 0) words.things.add('email');
  if (entities.currencies.length > 0) words.things.add('currency');
  if (moments.some((moment) => moment.offsetMs !== undefined)) words.things.add('time');
  if (expression !== undefined) words.actions.add('calculate');
  return { text, lower: text.toLowerCase(), entities, words, expression, known: new Map() };
}

function once<T>(clause: Clause, key: string, read: () => T): T {
  if (!clause.known.has(key)) clause.known.set(key, read());
  return clause.known.get(key) as T;
}

const entityKinds: Partial<Record<Kind, 'paths' | 'urls' | 'emails' | 'currencies' | 'timeZones'>> = {
  path: 'paths', url: 'urls', email: 'emails', currency: 'currencies', time_zone: 'timeZones',
}; // prettier-ignore

/** The values of a kind in the clause, best first. */
export function candidatesFor(kind: Kind, clause: Clause): string[] {
  return once(clause, `kind ${kind}`, () => readKind(kind, clause));
}

function readKind(kind: Kind, { entities, expression }: Clause): string[] {
  const { masked, quotes, symbols } = entities;
  const texts = (found: readonly Found[]) => found.map((one) => one.text);
  if (Object.hasOwn(entityKinds, kind)) return texts(entities[entityKinds[kind]!]);
  if (kind === 'expression') return expression === undefined ? [] : [expression];
  if (kind === 'location') return placesIn(entities);
  if (kind === 'query') return quotes.length > 0 ? texts(quotes) : queryIn(masked);
  if (kind === 'symbol') return symbols.length > 0 ? texts(symbols) : [...texts(quotes), ...topics(masked)];
  if (kind !== 'language') return [];
  const said = readWords(masked).values;
  return languages.filter((one) => said.has(one)).map((one) => one[0]!.toUpperCase() + one.slice(1));
}

const placePatterns =
  /\b(?:in|at|for|of|near|around|to|from)\s+((?:the\s+)?\p{Lu}[\p{L}'’.-]*(?:[ ,]+(?:and\s+)?\p{Lu}[\p{L}'’.-]*){0,5})/gu;
const askedEn = /\b(?:for|about|regarding|on)\s+([^\n?.!,;，。；\uFFFC]{1,200})/i;
const askedZh = /(?:关于|有关|搜索|搜一下|查找|检索|查询|查一下|搜)(?:一下|关于|有关)?([^，。？！；\n\uFFFC的]{1,60})/;

function placesIn({ masked, quotes }: Entities): string[] {
  const found = quotes.map((quote) => quote.text);
  for (const [, places] of masked.matchAll(placePatterns))
    found.push(...places!.split(/\s*,\s*(?:and\s+)?|\s+and\s+/).map((place) => place.replace(/[.']+$/, '')));
  if (found.length === 0) found.push(...topics(masked).filter((topic) => topic.length > 1 && !/^\d/.test(topic)));
  return [...new Set(found)];
}

function queryIn(masked: string): string[] {
  const english = askedEn.exec(masked)?.[1]?.replace(/\s+(?:in|on|from|using|with|limit|top|please)\b.*$/i, '');
  const said =
    english !== undefined && !hasHan(english) ? english : (askedZh.exec(masked)?.[1] ?? topics(masked).join(' '));
  return said.trim() === '' ? [] : [said.trim()];
}

const toPattern = /(?:\b(?:to|into|as|in|onto)|到|入|为|成|进|换|往|去|兑)\s?["“'「`]?(?:the\s+)?(?:file\s+)?$/i;
const fromPattern = /(?:\b(?:from|of|read|open)|从|把|将|由)\s?["“'「`]?(?:the\s+)?(?:file\s+)?$/i;

/** The entity after a word like “to”/到 (target) or “from”/从 (source). */
export function directed(
  found: readonly Found[],
  text: string,
  role: 'source' | 'target' | undefined,
): Found | undefined {
  const isBehind = (pattern: RegExp) => (item: Found) =>
    pattern.test(text.slice(Math.max(0, item.start - 16), item.start));
  if (role === undefined) return found[0];
  const pointed = found.find(isBehind(role === 'target' ? toPattern : fromPattern));
  if (pointed !== undefined) return pointed;
  if (role === 'target' && found.length > 1) return found.at(-1);
  const isOther = isBehind(role === 'source' ? toPattern : fromPattern);
  return found.find((item) => !isOther(item));
}

const saidPattern =
  /(?:\b(?:saying(?: that)?|(?:that|which) says|with (?:the )?(?:text|contents?|message|words?|body)(?: of)?)|(?:内容|正文)[是为:：]|写着)\s*[:：]?\s*/i;
const givenPatterns = [
  /(?:把|将)([^\n]{1,2000}?)(?:追加|翻译|译成|写入|写到|写进|保存|存入|存到|存为|存|写|发|总结|分析|添加|记)/,
  /(?:写入|写上|写下|写进|追加|翻译|添加)(?:一行|一句|文字|文本)?\s?([^\n，。\uFFFC]{1,2000})[。.！!]?$/,
  /\b(?:write|save|store|put|append|add|record|translate|summari[sz]e|analy[sz]e)\s+(?:down\s+)?(?:the\s+(?:text|words?|line|string|sentence|phrase)\s+)?([^\n]{1,2000}?)(?=\s+(?:to|into|in|as|on|onto|from)\s|\s*$)/i,
];
const pointsBack =
  /^(?:it|this|that|them|these|those|everything|the|its|their)\b|^(?:它|其|这|那|以上|上面|结果|内容|全文)/i;

/** The text in the clause to write, send or translate. Undefined if the clause only refers to something else. */
export function contentIn(clause: Clause): string | undefined {
  return once(clause, 'content', () => readContent(clause));
}

function readContent({ entities, text }: Clause): string | undefined {
  const { blocks, quotes, masked } = entities;
  if (blocks.length > 0) return blocks[0]!.text;
  const said = saidPattern.exec(masked);
  if (said !== null)
    return text
      .slice(said.index + said[0].length)
      .replace(/^[“"'「]([^”"'」]*)[”"'」].*$/s, '$1')
      .trim();
  if (quotes.length > 0)
    return quotes.reduce((left, right) => (right.text.length > left.text.length ? right : left)).text;
  const colon = /(?<!\d)[:：]\s*(?=\S)/.exec(masked);
  if (colon !== null) return text.slice(colon.index + colon[0].length).trim();
  for (const pattern of givenPatterns) {
    const given = pattern.exec(masked)?.[1]?.trim().replace(/的$/, '') ?? '';
    // Words like “the weather” or 内容 refer to the result of another step.
    if (given !== '' && !given.includes(maskCharacter) && !pointsBack.test(given) && topics(given).length > 0)
      return given;
  }
  return undefined;
}

const quotedValue =
  /^(?:d|ed)?\s{0,3}(?:is|are|as|called|named|to|=|:|：|是|为|叫做?|设为|改为)?\s{0,3}[“"'「『`《]([^”"'」』`》]{1,2000})[”"'」』`》]/i;
const linkZh = /^\s{0,3}(?:是|为|叫做?|设为|设置为|设成|调到|调成|调为|改为|改成|填|=|:|：)\s{0,3}[:：]?\s{0,3}/;
const linkEn = /^(?:\s{0,3}[=:：]\s{0,3}|\s{1,3}(?:is|are|as|called|named|of|to)\s{1,3})/i;
const noValue = /^(?:什么|多少|谁|哪|the\b|what|a\b|an\b|my\b|it\b)/i;
const valueEnd = /[，,。；;\n？?！!]|\.(?:\s|$)|\s(?:and|with|then|but)\s|并且?|然后|$/;

/** The value of a parameter that the clause names, in either language: `limit=5`, 标题是…, “titled …”. */
export function namedValue(name: string, clause: Clause): string | undefined {
  return once(clause, `named ${name}`, () => {
    const { lower, text } = clause;
    for (const term of termsForName(name)) {
      for (
        let at = lower.indexOf(term), tries = 0;
        at >= 0 && tries < 8;
        at = lower.indexOf(term, at + 1), tries += 1
      ) {
        if (!hasHan(term) && (/[a-z\d]/.test(lower[at - 1] ?? '') || /[a-ce-z\d]/.test(lower[at + term.length] ?? '')))
          continue;
        const after = text.slice(at + term.length, at + term.length + 2000);
        const value = quotedValue.exec(after)?.[1] ?? linkedValue(after, hasHan(term) ? linkZh : linkEn);
        if (value !== undefined) return value;
      }
    }
    return undefined;
  });
}

export function termsForName(name: string): string[] {
  const words = splitName(name).toLowerCase();
  const things = [...readWords(words).things].flatMap((thing) => termsOf(thingWords[thing as keyof typeof thingWords]));
  const values = Object.hasOwn(valueWords, words) ? termsOf(valueWords[words as keyof typeof valueWords]) : [];
  return [...new Set([words, ...things, ...values])].filter((term) => term.length > 1 || hasHan(term) || term === 'q');
}

function linkedValue(after: string, pattern: RegExp): string | undefined {
  const link = pattern.exec(after)?.[0];
  const rest = after.slice(link?.length ?? 0);
  if (link === undefined || noValue.test(rest)) return undefined;
  const value = rest.slice(0, valueEnd.exec(rest)?.index).trim();
  return value === '' || (/\b(?:of|to)\b/i.test(link) && !/^[\d-]/.test(value)) ? undefined : value;
}
