// Finds URLs, paths, quotations, numbers, times and so on in a request. All patterns are linear. A match is masked before
// the next pattern runs; positions never change.
import { currencyCodes, timeZoneNames, valueWords } from './lexicon.js';
import { hasHan, termsOf } from './words.js';

export interface Found {
  text: string;
  start: number;
  end: number;
}

export interface FoundNumber extends Found {
  value: number;
  /** The word after it, in lower case: a unit or what is counted. */
  unit: string;
}

export interface Moment extends Found {
  /** Relative to now; absent for absolute dates. */
  offsetMs?: number;
  /** `YYYY-MM-DD` or `MM-DD`, if a date was named. */
  date?: string;
  /** Minutes after midnight, if a time of day was named. */
  minuteOfDay?: number;
}

export interface Entities {
  /** The text with the characters of all entities replaced by U+FFFC. */
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

export const maskCharacter = '\uFFFC';
export const dayMs = 86_400_000;

const block = /```[\w-]{0,20}\n?([\s\S]{1,20000}?)```/g;
const urlPattern = /\b(?:https?|ftp|wss?):\/\/[^\s"'<>`，。；！？、（）【】「」《》“”‘’\p{Script=Han}\uFFFC]{1,2000}/gu;
const emailPattern = /\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}/g;
const quotePattern =
  /“([^”]{1,4000})”|‘([^’]{1,4000})’|「([^」]{1,4000})」|『([^』]{1,4000})』|《([^》]{1,4000})》|"([^"]{1,4000})"|`([^`\n]{1,4000})`|(?<![\p{L}\d])'([^'\n]{1,4000})'(?![\p{L}\d])/gu;
const quotedPath = /^[^\s,;:!?，。；：！？]+(?: [^\s,;:!?，。；：！？]+){0,3}$/;
const pathPattern =
  /(?:[A-Za-z]:[\\/]|~?[\\/]|\.{1,2}[\\/])?(?:(?:[\p{L}\p{M}\d_.@+-]{1,200}[\\/]){0,40}[\p{L}\p{M}\d_.@+-]{0,200}?[\p{L}\d_-]\.[A-Za-z\d]{1,8}(?=\p{Script=Han})|[\p{L}\p{M}\d_.@+-]{1,200}(?:[\\/][\p{L}\p{M}\d_.@+-]{1,200}){0,40}[\\/]?)/gu;
const bareFile = /^(?:[Mm]akefile|[Dd]ockerfile|README|LICENSE|CHANGELOG|CONTRIBUTING)$/;
const namedFile =
  /\b(?:file|document|folder|directory)\s+(?:named\s+|called\s+)?([\w-]{2,100})|\b([\w-]{2,100})\s+(?:folder|directory)\b|([\w-]{1,100})\s?(?:目录|文件夹)|(?:目录|文件夹)\s?([\w-]{2,100})/gi;
const plainWord =
  /^(?:named|called|and|in|of|to|from|with|for|is|at|the|this|that|a|an|my|current|files?|documents?|contents?|please|list|open|name|does|exists?|system)$/i;
/** Chinese verbs and particles written directly before a name; the name starts after the last of them. */
const prefix =
  /^(?:.*(?:读取|打开|查看|保存到|保存为|保存|写入到|写入|写到|存到|存入|存为|创建|新建|删除|复制到|移动到|重命名为|下载到|文件夹|文件|目录|叫做|名为|请|把|将|在|到|为|和|与|及|的|看看|看下|一下|读|写|存|从|里|给|对|成))/u;
const tail = /(?<=[\w/-])(?:目录|文件夹|文件|的|中|里|下|并|和|与|到|是|有|吗)[^.\\/]*$/u;
const number =
  /(?<![\w.])([-+]?(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,18})(?:\.\d{1,12})?)(?!\d)\s?(%|[a-zA-Z°]{1,20}|\p{Script=Han}{1,2})?/gu;
const symbol = /(?<![\w.])[A-Z]{1,5}(?:\.[A-Z]{1,2})?(?!\w)/g;
const notSymbols = new Set('I A AN OK AI API URL JSON HTTP AND OR THE TO IN GET POST AM PM UTC CSV ID US'.split(' '));
const zoneName = /\b(?:Asia|Europe|America|Africa|Australia|Pacific|Atlantic)\/[A-Z]\w{2,30}/g;

const currencyOf = new Map(
  currencyCodes.flatMap((code) => termsOf(valueWords[code]).map((term) => [term, code.toUpperCase()])),
);
const zoneOf = new Map(
  Object.entries(timeZoneNames).flatMap(([zone, row]) => termsOf(row).map((term) => [term, zone])),
);
const currency = anyOf([...currencyOf.keys()]);
const zonePattern = anyOf([...zoneOf.keys()]);

function anyOf(terms: string[]): RegExp {
  const inOrder = terms.sort((left, right) => right.length - left.length);
  const latin = inOrder.filter((term) => !hasHan(term)).join('|');
  const han = inOrder.filter(hasHan).map((term) => (term.length === 1 ? `(?<=\\d\\s?|${maskCharacter})${term}` : term));
  return new RegExp(`(?<![a-z])(${latin})s?(?![a-z])|(${han.join('|')})`, 'gi');
}

export function findEntities(text: string): Entities {
  let masked = text;
  const take = (pattern: RegExp, read: (match: RegExpExecArray) => string | undefined, whole = false): Found[] => {
    const found: Found[] = [];
    let rest = '';
    let from = 0;
    for (const match of masked.matchAll(pattern)) {
      const own = read(match);
      if (own === undefined || own === '' || found.length >= 64) continue;
      const start = match.index + (whole ? 0 : match[0].lastIndexOf(own));
      const end = whole ? match.index + match[0].length : start + own.length;
      found.push({ text: own, start, end });
      rest += masked.slice(from, start) + maskCharacter.repeat(end - start);
      from = end;
    }
    masked = rest + masked.slice(from);
    return found;
  };
  const blocks = take(block, (match) => match[1]!.trimEnd(), true);
  const urls = take(urlPattern, (match) => match[0].replace(/[.,;:!?)\]}]{1,20}$/, ''));
  const quotes = take(quotePattern, (match) => match.slice(1).find((part) => part !== undefined), true);
  const isAddress = (quote: Found) => /^https?:\/\/\S+$/.test(quote.text);
  const isName = (quote: Found) => !isAddress(quote) && isPath(quote.text) && quotedPath.test(quote.text);
  urls.push(...quotes.filter(isAddress));
  const emails = take(emailPattern, ([email]) => email);
  const zoneNames = take(zoneName, ([zone]) => zone);
  const moments = findMoments(masked);
  for (const { start, end } of moments)
    masked = masked.slice(0, start) + maskCharacter.repeat(end - start) + masked.slice(end);
  const paths = [...quotes.filter(isName), ...take(pathPattern, pathIn)];
  if (paths.length === 0)
    paths.push(...take(namedFile, (match) => match.slice(1).find((part) => part && !plainWord.test(part))));
  // Finds without masking: symbols and units are also words.
  const find = (pattern: RegExp, read: (term: string) => string | undefined): Found[] =>
    [...masked.matchAll(pattern)].slice(0, 32).flatMap((match) => {
      const own = read((match[1] ?? match[2] ?? match[0]).toLowerCase());
      return own === undefined ? [] : [{ text: own, start: match.index, end: match.index + match[0].length }];
    });
  const symbols = find(symbol, (term) => (notSymbols.has(term.toUpperCase()) ? undefined : term.toUpperCase()));
  const money = find(currency, (term) => currencyOf.get(term));
  const codes = symbols.filter(
    ({ text: code, start }) => money.length > 0 && code.length === 3 && !money.some((known) => known.start === start),
  );
  const numbers: FoundNumber[] = [];
  for (const match of masked.matchAll(number)) {
    const digits = match[1]!;
    if (numbers.length >= 64) break;
    const value = Number(digits.replaceAll(',', ''));
    const unit = (match[2] ?? '').toLowerCase();
    numbers.push({ text: digits, value, unit, start: match.index, end: match.index + digits.length });
  }
  return {
    masked,
    urls: inOrder(urls),
    paths: inOrder(paths),
    quotes: quotes.filter((quote) => !isName(quote) && !isAddress(quote)),
    emails,
    blocks,
    numbers,
    moments,
    currencies: inOrder([...money, ...codes]),
    symbols,
    timeZones: [...zoneNames, ...find(zonePattern, (term) => zoneOf.get(term))],
  };
}

function inOrder<T extends Found>(found: T[]): T[] {
  return found.sort((left, right) => left.start - right.start);
}

/** Whether a word looks like a path: rooted, with an extension, or inside a directory. */
function isPath(text: string): boolean {
  if (text.length > 1000 || /^[\d./\\:-]+$/.test(text)) return false;
  if (/^(?:~|\.{1,2}|[A-Za-z]:)?[\\/]/.test(text)) return text.length > 1;
  const name = text.split(/[\\/]/).at(-1)!;
  if (/^\.[A-Za-z][\w-]{1,30}$/.test(name) || bareFile.test(name)) return true;
  if (/[\\/]/.test(text)) return !/[\\/]{2}/.test(text) && !/^(?:and|or|s?he|on|w|n|km|yes)\/\w+$/i.test(text);
  return /[\p{L}\d_)-]\.(?=[A-Za-z\d]{1,8}$)\d?[A-Za-z]/u.test(name) && !/^(?:[a-z]\.)+[a-z]$/i.test(name);
}

function pathIn([match]: RegExpExecArray): string {
  let text = match.replace(/\.{1,3}$/, '').replace(tail, '');
  if (/^\p{Script=Han}/u.test(text)) {
    const name = text.slice(0, Math.max(0, text.search(/[.\\/]|$/)));
    text = text.slice(prefix.exec(name)?.[0].length ?? 0);
    const bare = text.replace(/^\p{Script=Han}+/u, '');
    if (/^(?:\/|\.{1,2}\/|~\/|\w)/.test(bare) && isPath(bare)) text = bare;
  }
  return isPath(text) ? text : '';
}

const units: [RegExp, number][] = [
  [/^(?:ms|millis(?:econds?)?|毫秒)$/i, 1], [/^(?:s|sec(?:ond)?s?|秒钟?)$/i, 1000], [/^(?:min(?:ute)?s?|分钟?)$/i, 60_000],
  [/^(?:h|hrs?|hours?|个?小时|个?钟头)$/i, 3_600_000], [/^(?:days?|天|日)$/i, dayMs], [/^(?:weeks?|周|个?星期|个?礼拜)$/i, 7 * dayMs],
  [/^(?:months?|个月)$/i, 30 * dayMs], [/^(?:years?|年)$/i, 365 * dayMs],
]; // prettier-ignore

/** In milliseconds; undefined if the word is not a unit of time. */
export function unitOfTime(word: string): number | undefined {
  return units.find(([pattern]) => pattern.test(word))?.[1];
}

const counts = ['', 'a', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];
const countEn = `\\d{1,6}(?:\\.\\d{1,3})?|an?|one|${counts.slice(2).join('|')}`;
const unitEn = 'milliseconds?|ms|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?';
const ago = new RegExp(`\\b(${countEn})\\s+(${unitEn})\\s+(?:ago|earlier|back)\\b`, 'gi');
const ahead = new RegExp(
  `\\bin\\s+(${countEn})\\s+(${unitEn})\\b|\\b(${countEn})\\s+(${unitEn})\\s+(?:from now|later)\\b`,
  'gi',
);
const distanceZh =
  /(\d{1,6}(?:\.\d{1,3})?|[一二两三四五六七八九十百半]{1,5})\s?(毫秒|秒钟?|分钟|个?小时|个?钟头|天|日|周|个?星期|个?礼拜|个月|年)\s?(?:之|以)?(前|后)/g;
const namedDays = new Map([
  ['day before yesterday', -2], ['day after tomorrow', 2], ['yesterday', -1], ['tomorrow', 1], ['today', 0], ['last week', -7],
  ['next week', 7], ['right now', 0], ['now', 0], ['前天', -2], ['后天', 2], ['昨天', -1], ['昨日', -1], ['明天', 1], ['明日', 1],
  ['今天', 0], ['今日', 0], ['今晚', 0], ['明早', 1], ['明晚', 1], ['现在', 0], ['上周', -7], ['下周', 7],
]); // prettier-ignore
const namedDay = new RegExp(`(?<![a-z])(?:the )?(${[...namedDays.keys()].join('|')})(?![a-z])`, 'gi');
const datePattern =
  /(\d{4})\s?[-/年.]\s?(\d{1,2})\s?[-/月.]\s?(\d{1,2})[日号]?|(\d{1,2})月(\d{1,2})[日号]|\b((?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\s+\d{1,2}|\d{1,2}\s+(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?\b/gi;
const clock =
  /(上午|早上|凌晨|中午|下午|傍晚|晚上)?\s?([零一二两三四五六七八九十\d]{1,3})点钟?(半|[零一二三四五六七八九十\d]{1,3}分?)?|(?:\bat\s+|T|\b)(\d{1,2})(?::(\d{2})(?::\d{2}Z?)?(?!\d)|(?=\s?[ap]\.?m\b))(?:\s?([ap])\.?m\b\.?)?|\bat\s+(noon|midnight)\b/gi;

/** Finds times relative to now (“three days ago”, 后天) and absolute ones (2027-01-15, 下午三点, at 3pm). */
function findMoments(text: string): Moment[] {
  const moments: Moment[] = [];
  const add = (match: RegExpExecArray, facts: Partial<Moment> | undefined) => {
    const start = match.index;
    const end = start + match[0].length;
    if (facts === undefined || moments.length >= 32 || moments.some((one) => one.start < end && start < one.end))
      return;
    moments.push({ text: match[0].trim(), start, end, ...facts });
  };
  for (const match of text.matchAll(ago)) add(match, distance(match[1]!, match[2]!, -1));
  for (const match of text.matchAll(ahead)) add(match, distance(match[1] ?? match[3]!, match[2] ?? match[4]!, 1));
  for (const match of text.matchAll(distanceZh)) add(match, distance(match[1]!, match[2]!, match[3] === '前' ? -1 : 1));
  for (const match of text.matchAll(namedDay))
    add(match, { offsetMs: (namedDays.get(match[1]!.toLowerCase()) ?? 0) * dayMs });
  for (const match of text.matchAll(datePattern)) add(match, dateOf(match));
  for (const match of text.matchAll(clock)) add(match, timeOf(match));
  return inOrder(moments);
}

function distance(count: string, unit: string, sign: number): Partial<Moment> | undefined {
  const size = unitOfTime(unit);
  const amount = numberOf(count.toLowerCase());
  return size === undefined || amount === undefined ? undefined : { offsetMs: Math.round(amount * size) * sign };
}

/** Reads 12, twelve, 十二, 两百 or 半; undefined if it is not a number. */
function numberOf(text: string): number | undefined {
  if (/^[\d.]+$/.test(text)) return Number(text);
  if (text === 'an' || text === 'one' || text === '半') return text === '半' ? 0.5 : 1;
  if (counts.includes(text)) return counts.indexOf(text);
  let total = 0;
  let digit: number | undefined;
  for (const character of text) {
    const value = character === '两' ? 2 : '零一二三四五六七八九'.indexOf(character);
    if (value >= 0) digit = value;
    else if (character === '十' || character === '百') {
      total += (digit ?? 1) * (character === '十' ? 10 : 100);
      digit = undefined;
    } else return undefined;
  }
  return total + (digit ?? 0);
}

function dateOf([, year, month, day, zhMonth, zhDay, named, namedYear]: RegExpExecArray): Partial<Moment> | undefined {
  const known = year ?? namedYear;
  const said =
    named === undefined ? `${known ?? 2000}-${month ?? zhMonth}-${day ?? zhDay}` : `${named} ${known ?? 2000}`;
  const at = Date.parse(`${said} UTC`);
  if (!Number.isFinite(at)) return undefined;
  const date = new Date(at).toISOString().slice(0, 10);
  return { date: known === undefined ? date.slice(5) : date };
}

function timeOf([, part, zhHour, zhMinute, hour, minute, half, word]: RegExpExecArray): Partial<Moment> | undefined {
  let at: number;
  if (word !== undefined) at = word.toLowerCase() === 'noon' ? 12 : 0;
  else if (zhHour !== undefined) {
    at = numberOf(zhHour) ?? Number.NaN;
    if (at < 12 && /下午|傍晚|晚上/.test(part ?? '')) at += 12;
    at += zhMinute === '半' ? 0.5 : (numberOf((zhMinute ?? '零').replace('分', '')) ?? 0) / 60;
  } else {
    at = Number(hour) + Number(minute ?? 0) / 60;
    if (half !== undefined) at = (at % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  }
  const minuteOfDay = Math.round(at * 60);
  return minuteOfDay >= 0 && minuteOfDay < 1440 ? { minuteOfDay } : undefined;
}
