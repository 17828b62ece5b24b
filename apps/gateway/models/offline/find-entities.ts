// Finds what a request names outright: addresses, paths, quotations, numbers, times. Every pattern is linear; nothing here
// knows a tool.
import { findMoments, type Moment } from './find-moments.js';
import { CURRENCIES, TIME_ZONES, VALUES } from './lexicon.js';
import { hasHan, termsOf } from './words.js';

export interface Found {
  text: string;
  start: number;
  end: number;
}

export interface FoundNumber extends Found {
  value: number;
  /** The words right behind it, lower case: a unit or the thing counted. */
  unit: string;
}

export interface Entities {
  text: string;
  /** The text with every entity's characters replaced by U+FFFC, for looking at the words around. */
  masked: string;
  urls: Found[];
  paths: Found[];
  quotes: Found[];
  emails: Found[];
  blocks: Found[];
  numbers: FoundNumber[];
  moments: Moment[];
  currencies: Found[];
  symbols: Found[];
  timeZones: Found[];
}

export const MASK = '\uFFFC';

const URL_PATTERN =
  /\b(?:https?|ftp|wss?):\/\/[^\s"'<>`，。；！？、（）【】「」《》“”‘’\p{Script=Han}\uFFFC]{1,2000}|\bwww\.[\w.-]{3,200}(?:\/[\w./?=&%#-]{0,500})?/gu;
const EMAIL_PATTERN = /\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}/g;
const QUOTES =
  /“([^”]{1,4000})”|‘([^’]{1,4000})’|「([^」]{1,4000})」|『([^』]{1,4000})』|《([^》]{1,4000})》|"([^"]{1,4000})"|`([^`\n]{1,4000})`|(?<![\p{L}\d])'([^'\n]{1,4000})'(?![\p{L}\d])/gu;
const PATH_PATTERN =
  /(?:[A-Za-z]:[\\/]|~?[\\/]|\.{1,2}[\\/])?(?:(?:[\p{L}\p{M}\d_.@+-]{1,200}[\\/]){0,40}[\p{L}\p{M}\d_.@+-]{0,200}?[\p{L}\d_-]\.[A-Za-z\d]{1,8}(?=\p{Script=Han})|[\p{L}\p{M}\d_.@+-]{1,200}(?:[\\/][\p{L}\p{M}\d_.@+-]{1,200}){0,40}[\\/]?)/gu;
const BARE_FILES = /^(?:makefile|dockerfile|readme|license|changelog|procfile|contributing)$/i;
const NAMED_FILE =
  /\b(?:file|document|folder|directory)\s+(?:named\s+|called\s+)?([\w-]{2,100})|\b([\w-]{2,100})\s+(?:folder|directory)\b|([\w-]{1,100})\s?(?:目录|文件夹)|(?:目录|文件夹)\s?([\w-]{2,100})/gi;
const NUMBER_PATTERN =
  /(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,18})(?:\.\d{1,12})?(?![\d])\s?(%|[a-zA-Z°]{1,20}|\p{Script=Han}{1,2})?/gu;
const NOT_SYMBOLS = new Set(
  'I A AN OK AI API URL JSON HTTP HTTPS AND OR THE TO IN GET POST PUT AM PM UTC GMT CSV XML HTML ID TV US UK EU IT MCP SQL FAQ PDF'.split(
    ' ',
  ),
);

const CURRENCY_TERMS = CURRENCIES.flatMap((code) =>
  termsOf(VALUES[code]).map((term) => [term, code.toUpperCase()] as const),
);
const ZONE_TERMS = Object.entries(TIME_ZONES).flatMap(([zone, row]) =>
  termsOf(row).map((term) => [term, zone] as const),
);

export function findEntities(text: string): Entities {
  const mask = new Mask(text);
  const blocks = mask.take(/```[\w-]{0,20}\n?([\s\S]{1,20000}?)```/g, (match) => match[1]!.trimEnd());
  const urls = mask.take(URL_PATTERN, (match) => withScheme(match[0].replace(/[.,;:!?)\]}]{1,20}$/, '')));
  const quotes = mask.take(QUOTES, (match) => match.slice(1).find((part) => part !== undefined) ?? '');
  const paths: Found[] = [];
  for (const quote of quotes) {
    if (/^(?:https?):\/\/\S+$/.test(quote.text)) urls.push(quote);
    else if (isPath(quote.text) && /^[^\s,;:!?，。；：！？]+(?: [^\s,;:!?，。；：！？]+){0,3}$/.test(quote.text))
      paths.push(quote);
  }
  const emails = mask.take(EMAIL_PATTERN, (match) => match[0]);
  const timeZones = mask.take(
    /\b(?:Asia|Europe|America|Africa|Australia|Pacific|Atlantic)\/[A-Z]\w{2,30}/g,
    (match) => match[0],
  );
  const moments = findMoments(mask.text);
  for (const moment of moments) mask.hide(moment);
  paths.push(...mask.take(PATH_PATTERN, pathIn, ownStart));
  if (paths.length === 0) {
    paths.push(
      ...mask.take(NAMED_FILE, (match) => plainName(match[1] ?? match[2] ?? match[3] ?? match[4] ?? ''), ownStart),
    );
  }
  const symbols = mask.find(/(?<![\w.])[A-Z]{1,5}(?:\.[A-Z]{1,2})?(?![\w])/g, (match) =>
    NOT_SYMBOLS.has(match[0]) ? '' : match[0],
  );
  const numbers = mask.takeNumbers();
  return {
    text,
    masked: mask.text,
    urls: inOrder(urls),
    paths: inOrder(paths),
    quotes: quotes.filter((quote) => !paths.includes(quote) && !urls.includes(quote)),
    emails: inOrder(emails),
    blocks,
    numbers,
    moments,
    currencies: findTerms(
      mask.text,
      CURRENCY_TERMS,
      symbols.filter((symbol) => symbol.text.length === 3),
    ),
    symbols,
    timeZones: [...timeZones, ...findTerms(mask.text, ZONE_TERMS, [])],
  };
}

const inOrder = <T extends Found>(found: T[]): T[] => found.sort((left, right) => left.start - right.start);
const withScheme = (url: string): string => (url.startsWith('www.') ? `https://${url}` : url);

const PLAIN_WORDS =
  /^(?:named|called|and|in|of|to|from|with|for|is|at|the|this|that|a|an|my|current|file|files|document|content|contents|please|list|open|name|does|exist|exists|system)$/i;
const plainName = (name: string): string => (PLAIN_WORDS.test(name) ? '' : name);

/** A word that people use as a file's name: rooted, or with an extension, or a directory below another. */
function isPath(text: string): boolean {
  if (text.length > 1000 || /^[\d./\\:-]+$/.test(text)) return false;
  if (/^(?:~|\.{1,2}|[A-Za-z]:)?[\\/]/.test(text)) return text.length > 1;
  const name = text.split(/[\\/]/).at(-1)!;
  if (/^\.[A-Za-z][\w-]{1,30}$/.test(name) || BARE_FILES.test(name)) return true;
  if (/^(?:and|or|he|she|his|her|on|off|w|n|km|m|yes|no|his)\/\w+$/i.test(text)) return false;
  if (/[\\/]/.test(text)) return !/[\\/]{2}/.test(text);
  return /[\p{L}\d_)-]\.(?=[A-Za-z\d]{1,8}$)\d?[A-Za-z]/u.test(name) && !/^(?:[a-z]\.)+[a-z]$/i.test(name);
}

/** Chinese verbs and particles glued before a name are no part of it: the name starts behind the last of them. */
const GLUED =
  /^(?:.*(?:读取|打开|查看|保存到|保存为|保存|写入到|写入|写到|存到|存入|存为|创建|新建|删除|复制到|移动到|重命名为|下载到|文件夹|文件|目录|叫做|名为|请|把|将|在|到|为|和|与|及|的|看看|看下|一下|读|写|存|从|里|给|对|成))/u;
const TAIL = /(?<=[\w/-])(?:目录|文件夹|文件|的|中|里|下|并|和|与|到|是|有|吗)[^.\\/]*$/u;

function pathIn(match: RegExpMatchArray): string {
  let text = match[0].replace(/\.{1,3}$/, '').replace(TAIL, '');
  if (/^\p{Script=Han}/u.test(text)) {
    const name = text.slice(0, Math.max(0, text.search(/[.\\/]|$/)));
    text = text.slice(GLUED.exec(name)?.[0].length ?? 0);
    const bare = text.replace(/^\p{Script=Han}+/u, '');
    if (/^(?:\/|\.{1,2}\/|~\/|[A-Za-z\d_])/.test(bare) && isPath(bare)) text = bare;
  }
  return isPath(text) ? text : '';
}

function ownStart(match: RegExpMatchArray, text: string): number {
  return match[0].lastIndexOf(text);
}

function findTerms(masked: string, terms: readonly (readonly [string, string])[], more: Found[]): Found[] {
  const lower = masked.toLowerCase();
  const found: Found[] = [];
  const codes = new Set(CURRENCY_TERMS.map(([, code]) => code));
  for (const [term, value] of terms) {
    for (let at = lower.indexOf(term); at >= 0 && found.length < 32; at = lower.indexOf(term, at + term.length)) {
      const around = `${lower[at - 1] ?? ' '}${lower[at + term.length] ?? ' '}`;
      if (hasHan(term) ? !(term.length === 1 && !/\d\s?$/.test(lower.slice(0, at))) : !/[a-rt-z]/.test(around)) {
        found.push({ text: value, start: at, end: at + term.length });
      }
    }
  }
  for (const symbol of more) {
    if (!found.some((other) => other.start === symbol.start) && terms === CURRENCY_TERMS) found.push(symbol);
  }
  const ordered = inOrder(found).filter(
    (item, at, all) => !all.some((other, place) => place < at && other.end > item.start),
  );
  return terms === CURRENCY_TERMS && !ordered.some((item) => codes.has(item.text)) ? [] : ordered;
}

/** The text still to be read; what one pattern took is hidden from the next. Positions never move. */
class Mask {
  constructor(public text: string) {}

  hide({ start, end }: { start: number; end: number }): void {
    this.text = this.text.slice(0, start) + MASK.repeat(end - start) + this.text.slice(end);
  }

  find(
    pattern: RegExp,
    read: (match: RegExpMatchArray) => string,
    offset = (_match: RegExpMatchArray, _text: string) => 0,
  ): Found[] {
    const found: Found[] = [];
    for (const match of this.text.matchAll(pattern)) {
      const text = read(match);
      if (text === '' || found.length >= 64) continue;
      const start = match.index + Math.max(0, offset(match, text));
      found.push({
        text,
        start,
        end: pattern === PATH_PATTERN || pattern === NAMED_FILE ? start + text.length : match.index + match[0].length,
      });
    }
    return found;
  }

  take(
    pattern: RegExp,
    read: (match: RegExpMatchArray) => string,
    offset?: (match: RegExpMatchArray, text: string) => number,
  ): Found[] {
    const found = offset === undefined ? this.find(pattern, read) : this.find(pattern, read, offset);
    for (const item of found) this.hide(item);
    return found;
  }

  takeNumbers(): FoundNumber[] {
    const numbers: FoundNumber[] = [];
    for (const match of this.text.matchAll(NUMBER_PATTERN)) {
      if (numbers.length >= 64) break;
      const digits = match[1] === undefined ? match[0] : match[0].slice(0, match[0].lastIndexOf(match[1]));
      const value = Number(digits.replaceAll(',', '').trim());
      if (!Number.isFinite(value)) continue;
      const end = match.index + digits.trimEnd().length;
      numbers.push({ text: digits.trim(), value, unit: (match[1] ?? '').toLowerCase(), start: match.index, end });
    }
    return numbers;
  }
}
