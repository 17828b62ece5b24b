// Reads a tool's purpose from its definition: the words of its name and description, and the kinds of its parameters.
// Schemas come from callers, so all recursion is bounded and nothing is fetched.
import { compileSchema, type CompiledSchema } from '#libs/json-schema/compile-schema.js';
import { isJsonObject, textOrEmpty, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import { allOf, followRef, list } from '../conversation/schema-parts.js';
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
  return list(schema['required']).filter((name) => typeof name === 'string');
}

const deepest = 5;
const mostParts = 8;

/** Resolves local references, merges `allOf`, and takes the first branch of `anyOf` or `oneOf` that is not null. */
export function resolve(schema: Json | undefined, root: JsonObject, depth = 0): JsonObject {
  if (!isJsonObject(schema) || depth > deepest) return {};
  const target = followRef(schema, root);
  if (target !== undefined) return resolve(target, root, depth + 1);
  const choices = [...list(schema['anyOf']), ...list(schema['oneOf'])];
  const choice = choices.find((one) => isJsonObject(one) && one['type'] !== 'null');
  const parts = [...list(schema['allOf']).slice(0, mostParts), ...(choice === undefined ? [] : [choice])];
  return parts.length === 0 ? schema : allOf([schema, ...parts.map((part) => resolve(part, root, depth + 1))]);
}

export function typeOf(schema: JsonObject): string | undefined {
  const type = schema['type'];
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) return type.find((one): one is string => typeof one === 'string' && one !== 'null');
  if (isJsonObject(schema['properties'])) return 'object';
  return schema['items'] === undefined ? undefined : 'array';
}

/** A parameter; its schema has no references. */
export interface Member {
  name: string;
  schema: JsonObject;
  required: boolean;
}

/** The words of a parameter's name and description, in lower case. */
export function aboutMember({ name, schema }: Omit<Member, 'required'>): string {
  return `${splitName(name)} ${textOrEmpty(schema['description']).slice(0, 300)}`.toLowerCase();
}

/** The kind of text or number that a parameter expects. */
export type Kind =
  | 'path' | 'url' | 'email' | 'content' | 'question' | 'query' | 'location' | 'offset' | 'moment'
  | 'time_zone' | 'expression' | 'text'; // prettier-ignore

const kinds: [Kind, RegExp][] = [
  ['email', /\b(?:e ?mail|mail|recipients?|cc|bcc)\b|邮箱|收件人/],
  ['url', /\b(?:url|uri|urls|uris|links?|href|webpage|website|endpoint)\b|网址|链接/],
  ['time_zone', /\b(?:time ?zone|tz|zone)\b|时区/],
  ['offset', /\b(?:offset|delta|shift|ago|milliseconds?|ms|seconds|minutes|hours|days)\b|偏移|毫秒/],
  ['moment', /\b(?:date|datetime|time|starts?|ends?|when|deadline|due|day|since|until|timestamp)\b|日期|时间/],
  ['question', /\b(?:questions?|prompt|ask|instructions?|problem)\b|问题|提示词/],
  ['query', /\b(?:query|q|keywords?|search|terms?|pattern|topic|phrase)\b|关键词|关键字|查询|搜索/],
  ['path', /\b(?:paths?|files?|file ?names?|filepath|documents?|doc|directory|folder|dir|save to)\b|路径|文件|目录|文档/],
  ['content', /\b(?:contents?|body|texts?|payload|message|data|input|sentence|note|value)\b|内容|正文|文本|文字|消息/],
  ['location', /\b(?:location|city|cities|place|town|region|country|address|destination|origin|where)\b|城市|地点|地区|位置|国家|地址/],
  ['expression', /\b(?:expression|expr|formula|equation)\b|表达式|算式|公式/],
]; // prettier-ignore
const formats: [Kind, RegExp][] = [
  ['url', /^ur[il]$/],
  ['email', /^email$/],
  ['moment', /^(?:date|time|date-time)$/],
];
const ends = /^(?:from|to|source|target|destination|src|dst|dest|base|origin|recipient)\b/;
const source = /\b(?:from|source|src|origin|base|old|input)\b/;
const target = /\b(?:to|target|destination|dest|dst|new|output)\b/;

/** Decides by format, then name, then description. What `from` and `to` take depends on what the tool is about. */
export function kindOf(name: string, schema: JsonObject, { name: own, description, parameters }: ToolProfile): Kind {
  const kindIn = (text: string, table = kinds) => table.find(([, pattern]) => pattern.test(text))?.[0];
  const formatted = kindIn(textOrEmpty(schema['format']), formats);
  if (formatted !== undefined) return formatted;
  const words = splitName(name).toLowerCase();
  const named = kindIn(words);
  if (named === 'content' && own.actions.has('ask')) return 'question';
  if (named === 'moment' && typeOf(schema) !== 'string' && own.things.has('time')) return 'offset';
  const about = (thing: string) => own.things.has(thing) || description.things.has(thing);
  // “location”, “destination” and “to” may mean a file, an email address or a place.
  if (named === undefined ? ends.test(words) : named === 'location') {
    if (about('email')) return 'email';
    if (about('file') || (ends.test(words) && parameters.things.has('content'))) return 'path';
  }
  return named ?? kindIn(aboutMember({ name, schema })) ?? 'text';
}

/** Whether a parameter is a source or a target. */
export function roleOf(name: string, { name: own }: ToolProfile): 'source' | 'target' | undefined {
  const words = splitName(name).toLowerCase();
  if (source.test(words)) return 'source';
  return target.test(words) || own.actions.has('write') ? 'target' : undefined;
}

const bounds = { maxBytes: 1_000_000, maxDepth: 64, deadlineMs: 100 };
const compiled = new WeakMap<JsonObject, CompiledSchema | 'unusable'>();

/** Whether arguments satisfy a schema. One that cannot be compiled lets all pass: the gateway's own check decides. */
export function satisfies(schema: JsonObject, value: JsonObject): boolean {
  let check = compiled.get(schema);
  if (check === undefined) {
    try {
      check = compileSchema(schema, bounds);
    } catch {
      check = 'unusable';
    }
    compiled.set(schema, check);
  }
  // The check fills in defaults.
  return check === 'unusable' || check.check(structuredClone(value), JSON.stringify(value).length) === undefined;
}
