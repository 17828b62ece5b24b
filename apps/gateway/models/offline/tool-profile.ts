// Reads a tool's purpose from its definition: the words of its name and description, and the kinds of its parameters.
// Schemas come from callers, so all recursion is bounded and nothing is fetched.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import { effects } from './lexicon.js';
import { readWords, splitName, type Words } from './words.js';

export interface ToolProfile {
  tool: ToolDefinition;
  name: Words;
  description: Words;
  parameters: Words;
  schema: JsonObject;
  /** The schema with local references resolved at the top. */
  resolved: JsonObject;
  /** Whether it changes something. Such tools are called one at a time, and only for a clear match. */
  hasEffect: boolean;
}

export function describeTool(tool: ToolDefinition): ToolProfile {
  const schema = tool.parameters ?? {};
  const resolved = resolve(schema, schema);
  const name = readWords(splitName(tool.name));
  const description = readWords((tool.description ?? '').slice(0, 2000));
  const parameters = readWords(Object.keys(propertiesOf(resolved)).slice(0, 50).map(splitName).join(' '));
  const actions = name.actions.size > 0 ? name.actions : description.actions;
  const hasEffect = [...actions].some((action) => effects.has(action));
  return { tool, name, description, parameters, schema, resolved, hasEffect };
}

export function propertiesOf(schema: JsonObject): Record<string, Json> {
  return isJsonObject(schema['properties']) ? schema['properties'] : {};
}

export function requiredOf(schema: JsonObject): string[] {
  const required = schema['required'];
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

/** Resolves local references, merges `allOf`, and takes the first branch of `anyOf` or `oneOf` that is not null. */
export function resolve(schema: Json | undefined, root: JsonObject, depth = 0): JsonObject {
  if (!isJsonObject(schema) || depth > 8) return {};
  const parts: (Json | undefined)[] = Array.isArray(schema['allOf']) ? schema['allOf'].slice(0, 16) : [];
  if (typeof schema['$ref'] === 'string') parts.push(pointed(schema['$ref'], root));
  const branches = [schema['anyOf'], schema['oneOf']].find((branch) => Array.isArray(branch));
  if (Array.isArray(branches)) parts.push(branches.find((one) => isJsonObject(one) && one['type'] !== 'null'));
  return parts.reduce<JsonObject>((joined, part) => join(joined, resolve(part, root, depth + 1)), schema);
}

function join(left: JsonObject, right: JsonObject): JsonObject {
  const properties = { ...propertiesOf(right), ...propertiesOf(left) };
  const required = [...new Set([...requiredOf(left), ...requiredOf(right)])];
  return { ...right, ...left, ...(Object.keys(properties).length === 0 ? {} : { properties, required }) };
}

function pointed(reference: string, root: JsonObject): Json | undefined {
  if (!reference.startsWith('#')) return undefined;
  let at: Json | undefined = root;
  for (const step of reference.slice(1).split('/').filter(Boolean)) {
    if (!isJsonObject(at) || !Object.hasOwn(at, step)) return undefined;
    at = at[step];
  }
  return at;
}

export function typeOf(schema: JsonObject): string | undefined {
  const type = schema['type'];
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) return type.find((one): one is string => typeof one === 'string' && one !== 'null');
  if (isJsonObject(schema['properties'])) return 'object';
  return schema['items'] === undefined ? undefined : 'array';
}

export function descriptionOf(schema: JsonObject): string {
  return typeof schema['description'] === 'string' ? schema['description'].slice(0, 300).toLowerCase() : '';
}

/** The kind of value that a parameter expects. */
export type Kind =
  | 'path' | 'url' | 'email' | 'content' | 'question' | 'query' | 'location' | 'offset' | 'moment' | 'language' | 'currency'
  | 'time_zone' | 'symbol' | 'expression' | 'text'; // prettier-ignore

const kinds: [Kind, RegExp][] = [
  ['email', /\b(?:e ?mail|mail|recipients?|receiver|cc|bcc)\b|邮箱|收件人|邮件地址/],
  ['url', /\b(?:url|uri|urls|uris|links?|href|webpage|website|endpoint)\b|网址|链接/],
  ['time_zone', /\b(?:time ?zone|tz|zone)\b|时区/],
  ['offset', /\b(?:offset|delta|shift|ago|milliseconds?|ms|seconds|minutes|hours|days)\b|偏移|毫秒|秒数|天数|小时数/],
  ['moment', /\b(?:date|datetime|time|starts?|ends?|when|deadline|due|day|since|until|at|begin|timestamp)\b|日期|时间/],
  ['question', /\b(?:questions?|prompt|ask|instructions?|problem|request)\b|问题|提问|提示词/],
  ['query', /\b(?:query|q|keywords?|search|terms?|pattern|topic|phrase)\b|关键词|关键字|查询|搜索/],
  ['path', /\b(?:paths?|files?|file ?names?|filepath|documents?|doc|directory|folder|dir|save to)\b|路径|文件|目录|文档/],
  ['content', /\b(?:contents?|body|texts?|payload|message|data|input|sentence|paragraph|passage|note|value)\b|内容|正文|文本|文字|消息/],
  ['location', /\b(?:location|city|cities|place|town|region|country|destination|origin|where)\b|城市|地点|地区|位置|国家/],
  ['language', /\b(?:languages?|lang|locale)\b|语言|语种/],
  ['currency', /\b(?:currency|currencies)\b|币种|货币/],
  ['symbol', /\b(?:symbols?|tickers?|stocks?)\b|代码|股票/],
  ['expression', /\b(?:expression|expr|formula|equation)\b|表达式|算式|公式/],
]; // prettier-ignore
const formats: Record<string, Kind> = {
  uri: 'url',
  url: 'url',
  email: 'email',
  date: 'moment',
  'date-time': 'moment',
  time: 'moment',
};
const ends = /^(?:from|to|source|target|destination|src|dst|dest|base|origin|recipient|old|new)\b/;
const source = /\b(?:from|source|src|origin|base|old|input)\b/;
const target = /\b(?:to|target|destination|dest|dst|new|output)\b/;

/** Decides by format, then name, then description. The kind of `from` and `to` depends on what the tool is about. */
export function kindOf(name: string, schema: JsonObject, profile: ToolProfile): Kind {
  const format = schema['format'];
  if (typeof format === 'string' && Object.hasOwn(formats, format)) return formats[format]!;
  const words = splitName(name).toLowerCase();
  const description = descriptionOf(schema);
  const kindIn = (text: string) => kinds.find(([, pattern]) => pattern.test(text))?.[0];
  const named = kindIn(words);
  if (named === 'content' && profile.name.actions.has('ask')) return 'question';
  if (named === 'moment' && typeOf(schema) !== 'string' && profile.name.things.has('time')) return 'offset';
  if (named !== 'location' && !ends.test(words)) return named ?? kindIn(description) ?? 'text';
  // “location”, “destination” and “from” may mean a file, an email address or a place.
  const about = (thing: string) => profile.name.things.has(thing) || profile.description.things.has(thing);
  if (named !== undefined && named !== 'location') return named;
  if (profile.name.actions.has('translate')) return 'language';
  if (about('currency')) return 'currency';
  if (about('email')) return 'email';
  const described = kindIn(description);
  if (described !== undefined) return described;
  if (about('file') || (ends.test(words) && profile.parameters.things.has('content'))) return 'path';
  return named ?? (about('map') || about('flight') ? 'location' : 'text');
}

/** Whether a parameter is a source or a target. */
export function roleOf(name: string, profile: ToolProfile): 'source' | 'target' | undefined {
  const words = splitName(name).toLowerCase();
  if (source.test(words)) return 'source';
  return target.test(words) || profile.name.actions.has('write') ? 'target' : undefined;
}
