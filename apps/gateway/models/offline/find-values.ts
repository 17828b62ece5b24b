// Finds URLs, paths, quotations, numbers, times and so on in a request. All patterns are linear. What is found is masked
// before the next pattern runs; positions never change.
import { timeZonePlaces } from './lexicon.js';
import { findMoments, type Moment } from './moments.js';
import { hasHan, termsOf, tokensOf } from './words.js';

export interface Found {
  text: string;
  start: number;
}

export interface FoundNumber extends Found {
  value: number;
  /** The word after it, in lower case: a unit or what is counted. */
  unit: string;
}

export interface FoundValues {
  /** The text with U+FFFC for what was found, but for numbers and places. */
  masked: string;
  urls: Found[];
  paths: Found[];
  /** Quotations, code blocks and file patterns. */
  quotes: Found[];
  emails: Found[];
  moments: Moment[];
  numbers: FoundNumber[];
  /** IANA names, for cities. */
  timeZones: Found[];
  /** Arithmetic, like `12 * (3 + 4)`. */
  expression: string | undefined;
}

export const mask = '\uFFFC';
const most = 64;

const block = /```[\w-]{0,20}\n?([\s\S]{1,20000}?)```/g;
const quote =
  /“([^”]{1,4000})”|‘([^’]{1,4000})’|「([^」]{1,4000})」|《([^》]{1,4000})》|"([^"]{1,4000})"|`([^`\n]{1,4000})`|(?<![\p{L}\d])'([^'\n]{1,4000})'(?![\p{L}\d])/gu;
const url = /\b(?:https?|ftp|wss?):\/\/[^\s"'<>`，。；！？、（）【】「」《》“”‘’\p{Script=Han}\uFFFC]{1,2000}/gu;
const email = /\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}/g;
const pathRun = /(?:\b[A-Za-z]:(?=[\\/]))?[\p{L}\p{M}\d_.@+~*\\/-]{1,400}/gu;
/** Where Chinese text goes on behind a name. */
const nameEnd = /(?<=\.[A-Za-z\d]{1,8})(?=\p{Script=Han})|(?<=[\w/])(?=目录|文件|的|里|中|并|和|与|到|是|写)/u;
const quotedName = /^[^\s,;:!?，。；：！？]+(?: [^\s,;:!?，。；：！？]+){0,3}$/;
const bareFile = /^(?:[Mm]akefile|[Dd]ockerfile|README|LICENSE|CHANGELOG|CONTRIBUTING)$/;
const namedFile =
  /\b(?:file|document|folder|directory)\s+(?:named\s+|called\s+)?([\w-]{2,100})|([\w-]{1,100})\s?(?:目录|文件夹|\bfolder\b|\bdirectory\b)|(?:目录|文件夹)\s?([\w-]{2,100})/gi;
const filler = /^(?:files?|folders?|directory|content|name|current)$/i;
const number =
  /(?<![\w.])([-+]?(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,18})(?:\.\d{1,12})?)(?!\d)\s?(%|[a-zA-Z°]{1,20}|\p{Script=Han}{1,2})?/gu;

const expression = /(?<![\w./:-])[(\d][\d\s()+*/.^%-]{1,200}(?![\w/:])/g;
const dateOrVersion = /^\d{1,4}-\d{1,2}-\d{1,2}$|^\d+\.\d+\.\d+/;

/** The time zones of places. */
const zoneOf = new Map(
  [
    ...Intl.supportedValuesOf('timeZone').map((zone): [string, string] => [zone, zone.split('/').at(-1)!]),
    ...Object.entries(timeZonePlaces),
  ].flatMap(([zone, row]) => termsOf(row.toLowerCase()).map((term) => [term, zone])),
);
const places = [...zoneOf.keys()].map((term) => (hasHan(term) ? term : `\\b${term}\\b`));
const place = new RegExp(places.filter((term) => !/[+()]/.test(term)).join('|'), 'gi');

export function findValues(text: string, now: number): FoundValues {
  let masked = text;
  const hide = (start: number, length: number): void => {
    masked = masked.slice(0, start) + mask.repeat(length) + masked.slice(start + length);
  };
  const take = (pattern: RegExp, read = ([match]: string[]) => match, whole = false): Found[] =>
    [...masked.matchAll(pattern)].slice(0, most).flatMap((match) => {
      const own = read(match) ?? '';
      if (own === '') return [];
      const start = match.index + (whole ? 0 : match[0].lastIndexOf(own));
      hide(start, whole ? match[0].length : own.length);
      // A quotation may have a URL in it, which is masked by now.
      const at = match.index + match[0].indexOf(own);
      return [{ text: text.slice(at, at + own.length), start }];
    });
  const urls = take(url, ([match]) => match!.replace(/[.,;:!?)\]}]{1,20}$/, ''));
  const blocks = take(block, ([, code]) => code!.trimEnd(), true);
  const quotes = take(quote, ([, ...parts]) => parts.find((part) => part !== undefined), true);
  const isQuotedPath = ({ text: own }: Found) => isPath(own) && quotedName.test(own);
  const emails = take(email);
  const runs = pathsIn(masked);
  for (const { start, text: own } of runs) hide(start, own.length);
  const isPattern = ({ text: own }: Found) => own.includes('*');
  const paths = [...quotes.filter(isQuotedPath), ...runs.filter((run) => !isPattern(run))];
  if (paths.length === 0) paths.push(...take(namedFile, ([, ...names]) => names.find((name) => name && isName(name))));
  const moments = findMoments(masked, now).slice(0, most);
  for (const { start, text: said } of moments) hide(start, said.length);
  const numbers = [...masked.matchAll(number)].slice(0, most).map((match) => {
    const [, digits = '', unit = ''] = match;
    return { text: digits, value: Number(digits.replaceAll(',', '')), unit: unit.toLowerCase(), start: match.index };
  });
  const timeZones = [...text.matchAll(place)].slice(0, most).map(({ 0: name, index: start }) => {
    return { text: zoneOf.get(name.toLowerCase())!, start };
  });
  const others = quotes.filter((one) => !isQuotedPath(one) && /[^\uFFFC]/.test(one.text));
  return {
    masked,
    urls,
    paths: paths.sort((left, right) => left.start - right.start),
    quotes: [...blocks, ...others, ...runs.filter(isPattern)],
    emails,
    moments,
    numbers,
    timeZones,
    expression: expressionIn(text),
  };
}

/** The paths in a text, without the Chinese words before and behind them. */
function pathsIn(text: string): Found[] {
  const paths: Found[] = [];
  for (const run of [...text.matchAll(pathRun)].slice(0, 8 * most)) {
    let end = run.index;
    for (const part of run[0].split(nameEnd)) {
      end += part.length;
      const own = part.replace(/^\p{Script=Han}+/u, '');
      const verb = tokensOf(/^\p{Script=Han}*/u.exec(part)![0]).findLast(({ kind }) => kind !== 'other');
      const behind = verb === undefined ? 0 : verb.start + verb.text.length;
      // 清单.txt is a name, though 清单 is a word too.
      const rest = part.slice(part[behind] === '.' ? verb?.start : behind);
      const path = [/^(?:\w|~?\/|\.{1,2}\/)/.test(own) ? own : '', rest].map(withoutDots).find(isPath);
      if (path !== undefined) paths.push({ text: path, start: end - part.length + part.lastIndexOf(path) });
    }
  }
  return paths.slice(0, most);
}

function withoutDots(name: string): string {
  return name.replace(/\.{1,3}$/, '');
}

/** Whether a word looks like a path: rooted, with an extension, or inside a directory. */
function isPath(text: string): boolean {
  if (text.length > 1000 || /^[\d./\\:+-]*$|^(?:and\/or|he\/she|[a-z]+\/[hs]|(?:[a-z]\.)+[a-z])$/i.test(text))
    return false;
  if (/^(?:~|\.{1,2}|[A-Za-z]:)?[\\/]/.test(text)) return text.length > 1;
  const name = text.split(/[\\/]/).at(-1)!;
  if (/^\.[A-Za-z][\w-]{1,30}$/.test(name) || bareFile.test(name)) return true;
  return /[\\/]/.test(text) ? !/[\\/]{2}|:/.test(text) : /[\p{L}\d_)*-]\.\d?[A-Za-z][A-Za-z\d]{0,7}$/u.test(name);
}

function isName(word: string): boolean {
  const { kind, actions } = tokensOf(word)[0]!;
  return kind !== 'small' && actions.length === 0 && !filler.test(word);
}

function expressionIn(text: string): string | undefined {
  const found = Array.from(text.matchAll(expression), ([match]) => match.trim().replace(/[.\s+*/^%-]+$/, ''));
  return found.find((one) => /\d\s*[+*/^%-]\s*[\d(]/.test(one) && !dateOrVersion.test(one));
}
