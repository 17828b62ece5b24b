// Finds URLs, paths, quotations, numbers, times and so on in a request. All patterns are linear. Found values are masked
// before the next pattern runs; positions never change.
import { findMoments, type Moment } from './moments.js';
import { timeZonePlaces } from './vocabulary.js';
import { hasHan, isVerb, tokenize } from './words.js';

export interface Found {
  text: string;
  start: number;
}

export interface FoundValues {
  /** The text with U+FFFC in place of all found values but numbers and places. */
  masked: string;
  urls: Found[];
  paths: Found[];
  /** Quotations, code blocks and file patterns. */
  quotes: Found[];
  emails: Found[];
  moments: Moment[];
  numbers: (Found & { value: number })[];
  /** IANA names, for cities. */
  timeZones: Found[];
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
const bareFile = /^(?:\.[A-Za-z][\w-]{1,30}|[Mm]akefile|[Dd]ockerfile|README|LICENSE|CHANGELOG|CONTRIBUTING)$/;
const namedFile =
  /\b(?:file|document|folder|directory)\s+(?:named\s+|called\s+)?([\w-]{2,100})|([\w-]{1,100})\s?(?:目录|文件夹|\bfolder\b|\bdirectory\b)|(?:目录|文件夹)\s?([\w-]{2,100})/gi;
const filler = /^(?:files?|folders?|directory|content|name|current)$/i;
const number = /(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,18})(?:\.\d{1,12})?(?!\d)/g;

const zoneOf = new Map(
  Intl.supportedValuesOf('timeZone').flatMap((zone) =>
    [zone.split('/').at(-1)!, ...(timeZonePlaces[zone] ?? [])].map((name) => [
      name.replaceAll('_', ' ').toLowerCase(),
      zone,
    ]),
  ),
);
const place = new RegExp(
  [...zoneOf.keys()]
    .filter((name) => /^[\p{L} ]+$/u.test(name))
    .map((name) => (hasHan(name) ? name : `\\b${name}\\b`))
    .join('|'),
  'gi',
);

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
  const numbers = [...masked.matchAll(number)].slice(0, most);
  const zones = [...text.matchAll(place)].slice(0, most);
  const others = quotes.filter((one) => !isQuotedPath(one) && /[^\uFFFC]/.test(one.text));
  return {
    masked,
    urls,
    paths: paths.sort((left, right) => left.start - right.start),
    quotes: [...blocks, ...others, ...runs.filter(isPattern)],
    emails,
    moments,
    numbers: numbers.map(({ 0: own, index }) => ({ text: own, start: index, value: Number(own.replaceAll(',', '')) })),
    timeZones: zones.map(({ 0: name, index }) => ({ text: zoneOf.get(name.toLowerCase())!, start: index })),
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
      const verb = tokenize(/^\p{Script=Han}*/u.exec(part)![0]).findLast(({ kind }) => kind !== 'other');
      const behind = verb === undefined ? 0 : verb.start + verb.text.length;
      // 清单.txt is a name, though 清单 is a word too.
      const rest = part.slice(part[behind] === '.' ? verb?.start : behind);
      const path = [/^(?:\w|~?\/|\.{1,2}\/)/.test(own) ? own : '', rest]
        .map((one) => one.replace(/\.{1,3}$/, ''))
        .find(isPath);
      if (path !== undefined) paths.push({ text: path, start: end - part.length + part.lastIndexOf(path) });
    }
  }
  return paths.slice(0, most);
}

/** Whether a word looks like a path: rooted, with an extension, or inside a directory. */
function isPath(text: string): boolean {
  if (text.length > 1000 || /[\\/]{2}|^[\d./\\:+-]*$|^(?:and\/or|he\/she|[a-z]+\/[hs]|(?:[a-z]\.)+[a-z])$/i.test(text))
    return false;
  const name = text.split(/[\\/]/).at(-1)!;
  return name !== text || bareFile.test(name) || /[\p{L}\d_)*-]\.\d?[A-Za-z][A-Za-z\d]{0,7}$/u.test(name);
}

function isName(word: string): boolean {
  const [token] = tokenize(word);
  return token!.kind !== 'small' && !isVerb(token!) && !filler.test(word);
}
