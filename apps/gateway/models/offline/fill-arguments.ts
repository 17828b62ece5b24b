// Fills a tool's arguments from a clause and the tool's JSON Schema. Leaves out optional arguments that are not in the
// clause, and reports required ones as missing. Invents values only if the call is forced.
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import { isJsonObject, textOrEmpty, type Json, type JsonObject } from '#libs/schemas/json.js';
import { followRef, list } from '../conversation/schema-parts.js';
import { exampleOf } from '../prompted/example-arguments.js';
import type { Found } from './find-values.js';
import type { Moment } from './moments.js';
import { behindVerb, contentIn, directed, queryIn, type Clause } from './read-request.js';
import { hasHan, splitName, termsOf, tokenize, topicsIn, wordsForName } from './words.js';

export interface FillableTool {
  definition: ToolDefinition;
  name: ReadonlySet<string>;
  about: ReadonlySet<string>;
  schema: JsonObject;
  /** Whether the tool changes something. Such tools are called one at a time, and only for a clear match. */
  hasEffect: boolean;
}

export interface Filled {
  arguments: JsonObject;
  /** Required parameters that are not in the request. */
  missing: string[];
  /** The parameter whose text the result of an earlier call can be. */
  takes: string | undefined;
  /** How many calls there are to make, if the tool handles one file, URL or place at a time. */
  count: number;
  /** How much of the clause is in the arguments. */
  evidence: number;
}

export interface FillContext {
  tool: FillableTool;
  clause: Clause;
  /** The user's whole message, for free questions. */
  request: string;
  /** Which of several files, URLs or places the call is for. */
  index?: number;
  /** Whether to invent values that the request does not have. */
  force?: boolean;
}

interface Member {
  name: string;
  schema: JsonObject;
  required: boolean;
}

/** Kinds of values, recognized by a parameter's name or description. */
const kinds = {
  email: /^email$|\b(?:e ?mail|mail|recipients?|cc|bcc)\b|邮箱|收件人/,
  url: /\b(?:url|uri|urls|uris|links?|href|website|endpoint)\b|网址|链接/,
  zone: /\b(?:time ?zone|tz|zone)\b|时区/,
  offset: /\b(?:offset|delta|shift|milliseconds?|ms|seconds|minutes|hours|days)\b|偏移|毫秒/,
  moment: /\b(?:date|date ?time|time|starts?|when|deadline|due|day|since|until|timestamp)\b|日期|时间/,
  question: /\b(?:questions?|prompt|ask|instructions?|problem)\b|问题|提示词/,
  query: /\b(?:query|q|keywords?|search|terms?|pattern|topic|phrase|expression)\b|关键词|关键字|查询|搜索/,
  path: /\b(?:paths?|files?|file ?names?|filepath|documents?|doc|directory|folder|dir)\b|路径|文件|目录|文档/,
  content: /\b(?:contents?|body|texts?|payload|message|data|input|sentence|note|value)\b|内容|正文|文本|文字|消息/,
  place:
    /\b(?:location|city|place|town|region|country|address|destination|origin|where)\b|城市|地点|地区|位置|国家|地址/,
};
type Kind = keyof typeof kinds | 'text';

/** How much a value of a kind speaks for a tool that takes it. */
const evidenceOf: Partial<Record<Kind, number>> = { url: 2.5, email: 2, path: 1.5, place: 1.5, offset: 1.5, moment: 1 };
const source = /\b(?:from|source|src|origin|base|old|input)\b/;
const target = /\b(?:to|target|destination|dest|dst|new|output)\b/;
const unitsMs = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const mostMembers = 100;
const deepest = 5;

/** Follows a local reference, and takes the first branch of `anyOf` or `oneOf` that is not null. */
export function resolve(schema: Json | undefined, root: JsonObject, depth = 0): JsonObject {
  if (!isJsonObject(schema) || depth > deepest) return {};
  const { anyOf, oneOf, ...own } = followRef(schema, root) ?? schema;
  const choice = [...list(anyOf), ...list(oneOf)].find((one) => isJsonObject(one) && one['type'] !== 'null');
  return choice === undefined ? own : { ...own, ...resolve(choice, root, depth + 1) };
}

export function membersOf(root: JsonObject): Member[] {
  const schema = resolve(root, root);
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const required = list(schema['required']).filter((name) => typeof name === 'string');
  // Required parameters get values first.
  const names = [...new Set([...required, ...Object.keys(properties).slice(0, mostMembers)])];
  return names.map((name) => {
    const own = Object.hasOwn(properties, name) ? resolve(properties[name], root) : { type: 'null' };
    return { name, schema: own, required: required.includes(name) };
  });
}

/** The kind of `from` and `to` depends on the tool's subject. */
function kindOf({ name, schema }: Member, tool: FillableTool): Kind {
  const kindIn = (text: string) =>
    Object.entries(kinds).find(([, pattern]) => pattern.test(text))?.[0] as Kind | undefined;
  const words = splitName(name);
  const named = kindIn(textOrEmpty(schema['format']).replace('-', '')) ?? kindIn(words);
  if (named === 'content' && tool.name.has('ask')) return 'question';
  if (named === 'moment' && schema['type'] !== 'string') return 'offset';
  // “location”, “destination” and “to” may mean a file, an email address or a place.
  if (named === 'place' || (named === undefined && (source.test(words) || target.test(words)))) {
    if (tool.name.has('email')) return 'email';
    if (tool.name.has('file') || tool.about.has('file')) return 'path';
  }
  return named ?? kindIn(textOrEmpty(schema['description']).slice(0, 300).toLowerCase()) ?? 'text';
}

export function fillArguments({ tool, clause, request, index = 0, force = false }: FillContext): Filled {
  const { text: said, values } = clause;
  /** Texts and numbers that are already a parameter's value. */
  const used = new Set<unknown>();
  const filled: Filled = { arguments: {}, missing: [], takes: undefined, count: 1, evidence: 0 };

  function candidates(kind: Kind): readonly Found[] {
    const { masked, urls, paths, emails, timeZones, quotes } = values;
    const byKind: Partial<Record<Kind, Found[]>> = { path: paths, url: urls, email: emails, zone: timeZones };
    if (byKind[kind] !== undefined) return byKind[kind];
    const topics = topicsIn(clause.tokens, masked, new Set([...tool.name, ...tool.about]));
    // Places and names have capitals, where there are any.
    const names = topics.filter(({ text }) => /^[\p{Lu}\p{Script=Han}]/u.test(text));
    return [...quotes, ...(names.length > 0 ? names : topics)].filter(({ text }) => !used.has(text));
  }

  /** The value of the parameter's role (source or target) in the clause, else the value for this call. */
  function oneOf(name: string, kind: Kind): string | undefined {
    const found = candidates(kind);
    const words = splitName(name);
    if (source.test(words)) return directed(found, said, 'source')?.text;
    if (target.test(words) || tool.name.has('write')) return directed(found, said, 'target')?.text;
    if (kind !== 'text') filled.count = Math.max(filled.count, found.length);
    return found[Math.min(index, found.length - 1)]?.text;
  }

  function textFor({ name, required }: Member, kind: Kind): string | undefined {
    const quote = values.quotes.find(({ text }) => !used.has(text))?.text;
    if (kind === 'moment') return values.moments[0] && isoFor(name, values.moments[0].at);
    if (['path', 'url', 'email', 'zone'].includes(kind)) return oneOf(name, kind);
    if (kind === 'question') return required ? request.trim() : undefined;
    if (kind === 'query') return quote ?? (required ? queryIn(clause) : undefined);
    if (required && tool.name.has('run')) return quote ?? behindVerb(clause);
    const named = namedValue(name, clause);
    if (named !== undefined && !used.has(named)) return named;
    if (!required) return undefined;
    if (kind !== 'content') return quote ?? oneOf(name, kind);
    const content = contentIn(clause);
    if (content !== undefined && !used.has(content)) return content ?? undefined;
    if (tool.name.has('remind')) return behindVerb(clause);
    if (quote === undefined) filled.takes = name;
    return quote;
  }

  function numberFor(member: Member, kind: Kind): number | undefined {
    const isNow = member.required && tool.name.has('time');
    if (kind === 'offset') return values.moments[0] ? offsetFor(member, values.moments[0]) : isNow ? 0 : undefined;
    const named = Number.parseFloat(namedValue(member.name, clause)?.replaceAll(',', '') ?? '');
    if (!Number.isNaN(named) || !member.required) return Number.isNaN(named) ? undefined : named;
    const free = values.numbers.find((one) => !used.has(one));
    used.add(free);
    return free?.value;
  }

  function valueFor(member: Member, kind: Kind): Json | undefined {
    const { schema, required } = member;
    const type = [schema['type']].flat().find((one) => one !== 'null') ?? 'string';
    if (schema['const'] !== undefined) return required ? schema['const'] : undefined;
    if (Array.isArray(schema['enum']))
      return schema['enum'].find((one) => typeof one !== 'object' && names(clause, String(one)));
    if (type === 'number' || type === 'integer') return numberFor(member, kind);
    if (type === 'array') {
      const items = resolve(schema['items'], tool.schema);
      const isList = required && items['type'] === 'string' && items['format'] === undefined;
      const listed = new Set(isList ? candidates(kind).map(({ text }) => text) : []);
      return listed.size === 0 ? undefined : [...listed].slice(0, mostMembers);
    }
    // Formats other than these cannot be read from a request.
    const isText = type === 'string' && (schema['format'] === undefined || ['url', 'email', 'moment'].includes(kind));
    const text = isText ? textFor(member, kind) : undefined;
    used.add(text);
    return text === '' ? undefined : text;
  }

  /** A value from the schema, or a harmless one, for a required parameter that the request leaves out. */
  function fallback({ schema, required }: Member, kind: Kind): Json | undefined {
    if (required && kind === 'path' && tool.name.has('list')) return '.';
    const isGiven = ['const', 'default', 'enum'].some((key) => schema[key] !== undefined);
    if (!required || !(isGiven || force)) return undefined;
    const example = exampleOf(schema, 0);
    if (isGiven) return example;
    if (typeof example === 'object') return Array.isArray(example) ? [] : {};
    if (typeof example !== 'string') return example;
    return schema['format'] === undefined ? request.trim() || undefined : undefined;
  }

  const entries: [string, Json][] = [];
  for (const member of membersOf(tool.schema)) {
    const kind = kindOf(member, tool);
    const value = valueFor(member, kind);
    if (value !== undefined) filled.evidence += evidenceOf[kind] ?? 0.5;
    const given = value ?? fallback(member, kind);
    if (given !== undefined) entries.push([member.name, given]);
    else if (member.required) filled.missing.push(member.name);
  }
  return { ...filled, arguments: Object.fromEntries(entries) };
}

function names({ terms }: Clause, option: string): boolean {
  return [...termsOf(splitName(option))].some((term) => terms.has(term));
}

/** The distance from now, in the unit that the parameter's name or description tells. */
function offsetFor({ name, schema }: Member, { offsetMs }: Moment): number {
  const about = `${splitName(name)} ${textOrEmpty(schema['description'])}`;
  const unit = /\bms\b|milli|毫秒/.test(about)
    ? undefined
    : Object.entries(unitsMs).find(([word]) => about.includes(word));
  // Never negative zero, which JSON does not have.
  return offsetMs / (unit?.[1] ?? 1) || 0;
}

/** The value that the clause gives to a parameter by its name: `limit=5`, 标题是…, “titled "…"”, “user 42”. */
function namedValue(name: string, { text, values }: Clause): string | undefined {
  const words = wordsForName(name).map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  if (words.length === 0) return undefined;
  const word = new RegExp(`(?<![a-z\\d])(?:${words.join('|')})(?:ed|d)?(?![a-z])`, 'giu');
  for (const { 0: said, index } of [...text.matchAll(word)].slice(0, 8)) {
    const end = index + said.length;
    const value = given
      .exec(text.slice(end, end + 2000))
      ?.slice(1)
      .find(Boolean)
      ?.split(valueEnd)[0]
      ?.trim();
    if (value !== undefined && value !== '') return value;
    const rest = values.masked.slice(end, end + 200).replace(/^ /, '');
    const [next] = tokenize(rest);
    if (next?.start !== 0 || !(hasHan(said) || text[end] === ' ')) continue;
    if (next.kind === 'number') return next.text;
    if (next.kind === 'other') return topicsIn(tokenize(rest), rest)[0]!.text;
  }
  return undefined;
}

function isoFor(name: string, at: number): string {
  const iso = `${new Date(at).toISOString().slice(0, 19)}Z`;
  return /date|day|日期/i.test(name) ? iso.slice(0, 10) : iso;
}

/** The text behind a parameter's name: a quotation, or text behind “is” and the like. */
const given =
  /^\s{0,3}(?:is|are|as|called|named|to|=|:|：|是|为|叫做?)?\s{0,3}[“"'「《`]([^”"'」》`]{1,2000})[”"'」》`]|^(?:\s{0,3}[=:：]\s{0,3}|\s{1,3}(?:is|are|as|called|named)\s{1,3}|\s{0,3}(?:设?[为成]|调到|叫做?|是)\s{0,3}[:：]?\s{0,3})(?!什么|多少|谁|哪|(?:the|what|a|an|my|it)\b)([^，,。；;\n？?！!]{1,2000})/i;
const valueEnd = /\.(?:\s|$)|\s(?:and|with|then|but)\s|并且?|然后|$/;
