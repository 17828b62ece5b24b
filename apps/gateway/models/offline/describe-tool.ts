// What a tool is for, read from its definition: the words of its name and description, and its parameters' kinds.
// Schemas are the caller's: every walk is bounded and nothing is fetched.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import { readWords, splitName, type Words } from './words.js';

export interface ToolProfile {
  tool: ToolDefinition;
  name: Words;
  description: Words;
  parameters: Words;
  schema: JsonObject;
}

/** What kind of thing a parameter wants. */
export type Kind =
  | 'path'
  | 'url'
  | 'email'
  | 'content'
  | 'question'
  | 'query'
  | 'location'
  | 'offset'
  | 'moment'
  | 'language'
  | 'currency'
  | 'time_zone'
  | 'symbol'
  | 'expression'
  | 'text';

export function describeTool(tool: ToolDefinition): ToolProfile {
  const schema = tool.parameters ?? {};
  const properties = propertiesOf(resolve(schema, schema));
  return {
    tool,
    name: readWords(splitName(tool.name)),
    description: readWords((tool.description ?? '').slice(0, 2000)),
    parameters: readWords(Object.keys(properties).slice(0, 50).map(splitName).join(' ')),
    schema,
  };
}

export function propertiesOf(schema: JsonObject): Record<string, Json> {
  return isJsonObject(schema['properties']) ? schema['properties'] : {};
}

export function requiredOf(schema: JsonObject): string[] {
  const required = schema['required'];
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

/** Follows local references, joins `allOf`, takes the first branch of `anyOf` and `oneOf` that is not null. */
export function resolve(schema: Json | undefined, root: JsonObject, depth = 0): JsonObject {
  if (!isJsonObject(schema) || depth > 8) return {};
  if (typeof schema['$ref'] === 'string') {
    const { $ref, ...beside } = schema;
    return { ...resolve(pointed($ref, root), root, depth + 1), ...beside };
  }
  let joined: JsonObject = schema;
  if (Array.isArray(schema['allOf'])) {
    for (const part of schema['allOf'].slice(0, 16)) joined = join(joined, resolve(part, root, depth + 1));
  }
  const branches = [schema['anyOf'], schema['oneOf']].find((branch) => Array.isArray(branch));
  if (Array.isArray(branches)) {
    const first = branches.find((branch) => isJsonObject(branch) && branch['type'] !== 'null');
    joined = join(joined, resolve(first, root, depth + 1));
  }
  return joined;
}

function join(left: JsonObject, right: JsonObject): JsonObject {
  return {
    ...right,
    ...left,
    properties: { ...propertiesOf(right), ...propertiesOf(left) },
    required: [...new Set([...requiredOf(left), ...requiredOf(right)])],
  };
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

const KINDS: [Kind, RegExp][] = [
  ['email', /\b(?:e ?mail|mail|recipients?|receiver|cc|bcc)\b|邮箱|收件人|邮件地址/],
  ['url', /\b(?:url|uri|urls|uris|link|links|href|webpage|website|endpoint)\b|网址|链接/],
  ['time_zone', /\b(?:time ?zone|tz|zone)\b|时区/],
  ['offset', /\b(?:offset|delta|shift|ago|milliseconds?|ms|seconds|minutes|hours|days)\b|偏移|毫秒|秒数|天数|小时数/],
  ['moment', /\b(?:date|datetime|time|start|end|when|deadline|due|day|since|until|at|begin|starts?|ends?|timestamp)\b|日期|时间/],
  ['question', /\b(?:question|questions|prompt|ask|instruction|instructions|problem|request|utterance)\b|问题|提问|提示词/],
  ['query', /\b(?:query|q|keyword|keywords|search|term|terms|pattern|topic|needle|phrase)\b|关键词|关键字|查询|搜索/],
  ['path', /\b(?:path|file|filename|filepath|paths|files|document|doc|directory|folder|dir|filenames|documents|save to)\b|路径|文件|目录|文档/],
  ['content', /\b(?:content|contents|body|text|texts|payload|message|data|input|sentence|paragraph|passage|note|value)\b|内容|正文|文本|文字|消息/],
  ['location', /\b(?:location|city|cities|place|town|region|country|district|province|destination|origin|where)\b|城市|地点|地区|位置|国家/],
  ['language', /\b(?:language|languages|lang|locale)\b|语言|语种/],
  ['currency', /\b(?:currency|currencies)\b|币种|货币/],
  ['symbol', /\b(?:symbols?|tickers?|stock|stocks)\b|代码|股票/],
  ['expression', /\b(?:expression|expr|formula|equation|calculation)\b|表达式|算式|公式/],
]; // prettier-ignore

/** By format, then by its name, then by its description; `from` and `to` take the kind of the tool's own matter. */
export function kindOf(name: string, schema: JsonObject, profile: ToolProfile): Kind {
  const format = schema['format'];
  if (format === 'uri' || format === 'url' || format === 'uri-reference' || format === 'iri') return 'url';
  if (format === 'email' || format === 'idn-email') return 'email';
  if (format === 'date' || format === 'date-time' || format === 'time') return 'moment';
  const words = splitName(name).toLowerCase();
  const description =
    typeof schema['description'] === 'string' ? schema['description'].slice(0, 300).toLowerCase() : '';
  if (/^(?:from|to|source|target|destination|src|dst|dest|base|origin|recipient|old|new)\b/.test(words)) {
    const own = roleKind(profile, description, words);
    if (own !== undefined) return own;
  }
  const named = KINDS.find(([, pattern]) => pattern.test(words))?.[0];
  if (named === 'location') {
    // “location” and “destination” may mean a file or an address: the description, then the tool's own matter, says which.
    if (/\b(?:path|file|document)\b|路径|文件/.test(description)) return 'path';
    if (/\b(?:url|uri|link)\b|网址|链接/.test(description)) return 'url';
    if (description === '' && profile.name.things.has('file')) return 'path';
  }
  if (named === 'content' && profile.name.actions.has('ask')) return 'question';
  if (named === 'moment' && typeOf(schema) !== 'string' && profile.name.things.has('time')) return 'offset';
  return named ?? KINDS.find(([, pattern]) => pattern.test(description))?.[0] ?? 'text';
}

function roleKind(profile: ToolProfile, description: string, words: string): Kind | undefined {
  const about = (thing: string) => profile.name.things.has(thing) || profile.description.things.has(thing);
  if (/path|file/.test(words)) return 'path';
  if (/url|uri/.test(words)) return 'url';
  if (/lang/.test(words) || profile.name.actions.has('translate')) return 'language';
  if (/currency|code/.test(words) || about('currency')) return 'currency';
  if (about('email') && /^(?:to|from|recipient)/.test(words)) return 'email';
  const described = KINDS.find(([, pattern]) => pattern.test(description))?.[0];
  if (described !== undefined) return described;
  if (about('file') || profile.parameters.things.has('content') || profile.name.actions.has('write')) return 'path';
  return about('map') || about('flight') || about('location') ? 'location' : undefined;
}

/** Whether a parameter is where something comes from or where it goes. */
export function roleOf(name: string, profile: ToolProfile): 'source' | 'target' | undefined {
  const words = splitName(name).toLowerCase();
  if (/\b(?:from|source|src|origin|base|old|input)\b/.test(words)) return 'source';
  if (/\b(?:to|target|destination|dest|dst|new|output)\b/.test(words)) return 'target';
  return profile.name.actions.has('write') ? 'target' : undefined;
}
