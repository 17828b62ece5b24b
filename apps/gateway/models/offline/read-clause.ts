// One clause of a request, and what it says for a kind of parameter: the candidates in order, best first.
import type { Kind } from './describe-tool.js';
import { findEntities, MASK, type Entities, type Found } from './find-entities.js';
import { DAY, type Moment } from './find-moments.js';
import { LANGUAGES, THINGS, VALUES } from './lexicon.js';
import { hasHan, readWords, splitName, termsOf, topics, type Words } from './words.js';

export interface Clause {
  text: string;
  entities: Entities;
  words: Words;
  lower: string;
  /** Each reading is made once, however many tools ask for it. */
  memo: Map<string, unknown>;
}

function once<T>(clause: Clause, key: string, read: () => T): T {
  if (!clause.memo.has(key)) clause.memo.set(key, read());
  return clause.memo.get(key) as T;
}

const REFERENCE =
  /^(?:it|this|that|them|these|those|everything|the (?:above|same)|它|它们|其|这|这个|那个|以上|上面的?|结果|内容|全文)(?:的?(?:content|contents|result|results|text|内容|结果|文本))?$/i;
const STOP_EN =
  /\s+(?:and|with|then|but|please|today|tomorrow|yesterday|now|at|on|for|to|into|by|using|via|from|in|is|are|was|were|like|right)\b|[?.!,;:，。？！；：\n\uFFFC]|$/;

export function readClause(text: string): Clause {
  const entities = findEntities(text);
  const words = readWords(entities.masked.replaceAll(MASK, ' '));
  const imply = (present: unknown[], things: string[], actions: string[]) => {
    if (present.length === 0) return;
    for (const thing of things) words.things.add(thing);
    for (const action of actions) words.actions.add(action);
  };
  const asked = words.actions.size > 0;
  imply(entities.urls, ['web'], asked ? [] : ['fetch']);
  const directories = entities.paths.filter((path) => path.text.endsWith('/'));
  imply(directories, ['directory'], []);
  if (directories.length < entities.paths.length) imply(entities.paths, ['file'], []);
  imply(entities.emails, ['email'], []);
  imply(entities.currencies, ['currency'], []);
  imply(arithmeticIn(text) === undefined ? [] : [1], [], ['calculate']);
  imply(
    entities.moments.filter((moment) => moment.offsetMs !== undefined && /[a-z昨前明后今现]/i.test(moment.text)),
    ['time'],
    [],
  );
  return { text, entities, words, lower: text.toLowerCase(), memo: new Map() };
}

/** What the clause offers for a kind. An empty list means that it says nothing of the sort. */
export function candidatesFor(kind: Kind, clause: Clause): string[] {
  return once(clause, `kind ${kind}`, () => readKind(kind, clause));
}

function readKind(kind: Kind, clause: Clause): string[] {
  const { entities } = clause;
  switch (kind) {
    case 'path':
      return entities.paths.map((path) => path.text);
    case 'url':
      return entities.urls.map((url) => url.text);
    case 'email':
      return entities.emails.map((email) => email.text);
    case 'currency':
      return entities.currencies.map((currency) => currency.text);
    case 'time_zone':
      return entities.timeZones.map((zone) => zone.text);
    case 'symbol':
      return entities.symbols.length > 0 ? entities.symbols.map((symbol) => symbol.text) : namesIn(clause);
    case 'language':
      return LANGUAGES.filter((language) => readWords(entities.masked).values.has(language)).map(
        (language) => language[0]!.toUpperCase() + language.slice(1),
      );
    case 'expression':
      return [arithmeticIn(clause.text) ?? ''].filter(Boolean);
    case 'location':
      return placesIn(clause);
    case 'query':
      return queryIn(clause);
    default:
      return [];
  }
}

/** The one of several that a word like “to”/到 (target) or “from”/从 (source) points at. */
export function directed(
  found: readonly Found[],
  clause: Clause,
  role: 'source' | 'target' | undefined,
): Found | undefined {
  const target = /(?:\b(?:to|into|as|in|onto)|到|入|为|成|进|换|往|去|兑)\s?["“'「`]?(?:the\s+)?(?:file\s+)?$/i;
  const source = /(?:\b(?:from|of|read|open)|从|把|将|由)\s?["“'「`]?(?:the\s+)?(?:file\s+)?$/i;
  const before = (item: Found) => clause.text.slice(Math.max(0, item.start - 16), item.start);
  const wanted = role === 'target' ? target : source;
  const pointed = found.find((item) => wanted.test(before(item)));
  if (pointed !== undefined || role === undefined) return pointed ?? found[0];
  return role === 'source'
    ? (found.find((item) => !target.test(before(item))) ?? undefined)
    : found.length > 1
      ? found.at(-1)
      : found.find((item) => !source.test(before(item)));
}

function quotesIn(clause: Clause): string[] {
  return clause.entities.quotes.map((quote) => quote.text);
}

function namesIn(clause: Clause): string[] {
  const { masked } = clause.entities;
  const after = prepositional(masked, /\b(?:for|of|about|named|called|on)\s+(?:the\s+)?/gi);
  return [...quotesIn(clause), ...after, ...topics(masked)];
}

function prepositional(masked: string, pattern: RegExp): string[] {
  const found: string[] = [];
  for (const match of masked.matchAll(pattern)) {
    const rest = masked.slice(match.index + match[0].length, match.index + match[0].length + 200);
    const value = rest.slice(0, STOP_EN.exec(rest)?.index ?? 0).trim();
    if (value !== '' && !hasHan(value) && found.length < 8) found.push(value);
  }
  return found;
}

function placesIn(clause: Clause): string[] {
  const { masked, quotes } = clause.entities;
  const found: string[] = quotes.map((quote) => quote.text);
  for (const match of masked.matchAll(
    /\b(?:in|at|for|of|near|around|to|from)\s+((?:the\s+)?\p{Lu}[\p{L}'’.-]*(?:[ ,]+(?:and\s+)?\p{Lu}[\p{L}'’.-]*){0,5})/gu,
  )) {
    found.push(...match[1]!.split(/\s*,\s*(?:and\s+)?|\s+and\s+/).map((place) => place.replace(/[.']+$/, '')));
  }
  if (found.length === 0) found.push(...prepositional(masked, /\b(?:in|near|around)\s+(?:the\s+)?/gi));
  if (found.length === 0) found.push(...topics(masked).filter((topic) => topic.length > 1 && !/^\d/.test(topic)));
  return [
    ...new Set(found.filter((place) => readWords(place).things.size === 0 || /\p{Lu}/u.test(place) || hasHan(place))),
  ];
}

function queryIn(clause: Clause): string[] {
  const { masked } = clause.entities;
  if (clause.entities.quotes.length > 0) return quotesIn(clause);
  const english = /\b(?:for|about|regarding|on)\s+([^\n?.!,;\uFFFC]{1,200})/i.exec(masked)?.[1];
  if (english !== undefined && !hasHan(english))
    return [english.replace(/\s+(?:in|on|from|using|with|limit|top|please)\b.*$/i, '').trim()].filter(Boolean);
  const chinese =
    /(?:关于|有关|搜索|搜一下|查找|检索|查询|查一下|搜)(?:一下|关于|有关)?([^，。？！；\n\uFFFC的]{1,60})/.exec(
      masked,
    )?.[1];
  const topic = chinese === undefined ? topics(masked).join(' ') : chinese.trim();
  return [topic].filter(Boolean);
}

/** Text that the clause itself gives to write, send or translate; none when it only points at something earlier. */
export function contentIn(clause: Clause, isFollowing: boolean): string | undefined {
  return once(clause, `content ${isFollowing}`, () => readContent(clause, isFollowing));
}

function readContent({ entities, text }: Clause, isFollowing: boolean): string | undefined {
  const near = entities.masked.slice(0, 3000);
  if (entities.blocks.length > 0) return entities.blocks[0]!.text;
  const said =
    /(?:\b(?:saying(?: that)?|that says|which says|with (?:the )?(?:text|content|contents|message|words?|body)(?: of)?)|内容[是为]|内容[:：]|正文[是为:：]|写着|说)\s*[:：]?\s*/i.exec(
      entities.masked,
    );
  if (said !== null) return unquoted(text.slice(said.index + said[0].length));
  if (entities.quotes.length > 0)
    return entities.quotes.reduce((left, right) => (right.text.length > left.text.length ? right : left)).text;
  const colon = /[:：]\s*(?=\S)/.exec(entities.masked);
  if (colon !== null && !/\d$/.test(entities.masked.slice(0, colon.index)))
    return text.slice(colon.index + colon[0].length).trim();
  const range =
    /(?:把|将)([^\n]{1,2000}?)(?:追加|翻译|译成|写入|写到|写进|保存|存入|存到|存为|存|写|发|总结|分析|添加|记)/.exec(
      near,
    ) ??
    /(?:写入|写上|写下|写进|追加|翻译|添加)(?:一行|一句|文字|文本)?\s?([^\n，。\uFFFC]{1,2000})$/.exec(
      near.replace(/(?<=[^\uFFFC])[。.！!]$/, ''),
    ) ??
    /\b(?:write|save|store|put|append|add|record|translate|summari[sz]e|analy[sz]e)\s+(?:down\s+)?(?:the\s+(?:text|words?|line|string|sentence|phrase)\s+)?([^\n]{1,2000}?)(?=\s+(?:to|into|in|as|on|onto|from)\s|\s*$)/i.exec(
      near,
    );
  const value = range?.[1];
  if (value === undefined) return undefined;
  const start = range!.index + range![0].indexOf(value);
  const content = text
    .slice(start, start + value.length)
    .trim()
    .replace(/的$/, '');
  if (content === '' || REFERENCE.test(content) || value.includes(MASK) || isReference(content, isFollowing))
    return undefined;
  return content;
}

/** “the weather”, 查询结果: known things only, so it names what an earlier step got. */
function isReference(content: string, isFollowing: boolean): boolean {
  if (topics(content).length === 0) return true;
  return isFollowing && (/^(?:the|its|their|this|that)\b/i.test(content) || readWords(content).things.size > 0);
}

const unquoted = (text: string): string => {
  const value = text.trim();
  return /^[“"'「]/.test(value) ? (/^[“"'「]([^”"'」]*)/.exec(value)?.[1] ?? value) : value;
};

/** `12 * (3 + 4)`, 12乘以8, 15% of 80; as an expression with plain operators. */
export function arithmeticIn(text: string): string | undefined {
  const plain = text
    .slice(0, 2000)
    .replace(/(\d)\s?%\s+of\s+(?=\d)/gi, '$1/100*')
    .replace(/乘以?|\btimes\b|\bmultiplied by\b|×/gi, '*')
    .replace(/除以|\bdivided by\b|÷/gi, '/')
    .replace(/加上?|\bplus\b/gi, '+')
    .replace(/减去?|\bminus\b/gi, '-');
  for (const match of plain.matchAll(/(?<![\w./:-])[(\d][\d\s()+*/.^%-]{1,200}(?![\w/:])/g)) {
    const expression = match[0].trim().replace(/[.\s+*/^%-]+$/, '');
    if (/\d\s*[+*/^%-]\s*[\d(]/.test(expression) && !/^\d{1,4}-\d{1,2}-\d{1,2}$|^\d+\.\d+\.\d+/.test(expression))
      return expression;
  }
  return undefined;
}

/** What the clause says of a parameter by its own name or in the other language: `limit=5`, 标题是…, “titled …”. */
export function namedValue(name: string, description: string, clause: Clause): string | undefined {
  return once(clause, `named ${name} ${description}`, () => readNamed(name, description, clause));
}

function readNamed(name: string, description: string, clause: Clause): string | undefined {
  const { lower } = clause;
  for (const term of termsForName(name, description)) {
    for (let at = lower.indexOf(term), tries = 0; at >= 0 && tries < 8; at = lower.indexOf(term, at + 1), tries += 1) {
      const around = `${lower[at - 1] ?? ' '}${lower[at + term.length] ?? ' '}`;
      if (!hasHan(term) && /[a-z\d]/.test(around.replace(/(?<=^.)[ds](?=$)/, ''))) continue;
      const value = linkedValue(clause.text.slice(at + term.length, at + term.length + 2000), hasHan(term));
      if (value !== undefined) return value;
    }
  }
  return undefined;
}

export function termsForName(name: string, description: string): string[] {
  const words = splitName(name).toLowerCase();
  const short = /^[\p{Script=Han}]{2,6}$/u.test(description.trim()) ? [description.trim()] : [];
  const things = [...readWords(words).things].flatMap((thing) => termsOf(THINGS[thing as keyof typeof THINGS]));
  const values = Object.hasOwn(VALUES, words) ? termsOf(VALUES[words as keyof typeof VALUES]) : [];
  return [...new Set([name.toLowerCase(), words, ...short, ...things, ...values])].filter(
    (term) => term.length > 1 || hasHan(term) || term === 'q',
  );
}

function linkedValue(after: string, isChinese: boolean): string | undefined {
  const quoted =
    /^(?:d|ed)?\s{0,3}(?:is|are|as|called|named|to|=|:|：|是|为|叫做?|设为|改为)?\s{0,3}[“"'「『`《]([^”"'」』`》]{1,2000})[”"'」』`》]/i.exec(
      after,
    );
  if (quoted !== null) return quoted[1];
  const link = isChinese
    ? /^\s{0,3}(?:是|为|叫做?|设为|设置为|设成|调到|调成|调为|改为|改成|填|=|:|：)\s{0,3}[:：]?\s{0,3}/.exec(after)
    : /^(?:\s{0,3}[=:：]\s{0,3}|\s{1,3}(?:is|are|as|called|named|of|to)\s{1,3})/i.exec(after);
  if (link === null) return undefined;
  const rest = after.slice(link[0].length);
  if (/^(?:什么|多少|谁|哪|the\b|what|a\b|an\b|my\b|it\b)/i.test(rest)) return undefined;
  const value = rest
    .slice(0, /[，,。；;\n？?！!]|\.(?:\s|$)|\s(?:and|with|then|but)\s|并且?|然后|$/.exec(rest)?.index ?? 0)
    .trim();
  if (value === '' || (/\b(?:of|to)\b/i.test(link[0]) && !/^[\d-]/.test(value))) return undefined;
  return value;
}

export function offsetIn(clause: Clause): Moment | undefined {
  return clause.entities.moments.find((moment) => moment.offsetMs !== undefined);
}

/** A date or time as ISO text in UTC, from the present moment `now` (epoch ms). */
export function momentText(
  moments: readonly Moment[],
  now: number,
  style: 'date' | 'time' | 'date-time',
): string | undefined {
  const dated = moments.find((moment) => moment.date !== undefined);
  const shifted = moments.find((moment) => moment.offsetMs !== undefined);
  const clock = moments.find((moment) => moment.minuteOfDay !== undefined);
  const base = new Date(now + (shifted?.offsetMs ?? 0));
  const date =
    dated?.date === undefined
      ? base.toISOString().slice(0, 10)
      : dated.date.length === 5
        ? `${new Date(now).getUTCFullYear()}-${dated.date}`
        : dated.date;
  const minutes = clock?.minuteOfDay;
  const time =
    minutes === undefined
      ? undefined
      : `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}:00`;
  if (dated === undefined && shifted === undefined && time === undefined) return undefined;
  if (style === 'date') return date;
  const fine = shifted !== undefined && shifted.offsetMs! % DAY !== 0 ? base.toISOString().slice(11, 19) : '00:00:00';
  return style === 'time' ? `${time ?? fine}Z` : `${date}T${time ?? fine}Z`;
}
