// Reads the results of tools: their text, and their members as facts that a question can ask for.
import { isJsonObject, parseJsonObject, type Json } from '#libs/schemas/json.js';
import { readWords, shared, splitName, type Words } from './words.js';

const textMembers = ['content', 'body', 'text', 'data', 'output', 'result'];
const aboutText =
  /^(?:content|body|text|data|output|result|status|status_?code|headers|url|path|size|bytes|encoding|success|ok|content_?type|mime_?type|truncated|(?:total_?)?lines?|type|(?:file_?)?name)$/i;
const factLine = /^[ \t>*-]{0,8}["']?([\p{L}_][\p{L}\d_. -]{0,40}?)["']?[ \t]{0,8}[:=：][ \t]{0,8}(\S[^\n]{0,300})$/gmu;
const mostFacts = 500;
const mostAnswered = 10;

export interface Fact {
  key: string;
  path: string;
  value: string;
}

/** The text of a result: the result itself, or the text member of a JSON envelope. */
export function resultText(result: string): string {
  const value = result.length < 2_000_000 && result.trimStart().startsWith('{') ? parseJsonObject(result) : undefined;
  if (value === undefined || !Object.keys(value).every((key) => aboutText.test(key))) return result;
  const member = textMembers.find((name) => typeof value[name] === 'string');
  return member === undefined ? result : (value[member] as string);
}

export function factsIn(result: string): Fact[] {
  const text = resultText(result).slice(0, 200_000);
  const facts: Fact[] = [];
  try {
    collect(JSON.parse(text) as Json, '', facts);
  } catch {
    for (const [, key, value] of text.matchAll(factLine)) {
      if (facts.length >= mostFacts) break;
      facts.push({ key: key!, path: key!, value: value!.trim().replace(/^["'](.*)["'],?$/, '$1') });
    }
  }
  return facts;
}

function collect(value: Json, path: string, facts: Fact[], depth = 0): void {
  if (depth > 12 || !(isJsonObject(value) || Array.isArray(value))) return;
  for (const [key, member] of Object.entries(value)) {
    if (facts.length >= mostFacts) return;
    const place = path === '' ? key : `${path}.${key}`;
    const isList = Array.isArray(member) && member.length <= 20 && member.every((item) => typeof item !== 'object');
    if (isList || typeof member !== 'object' || member === null)
      facts.push({ key, path: place, value: isList ? member.join(', ') : String(member) });
    else collect(member, place, facts, depth + 1);
  }
}

/** The facts whose names are among the words, in either language. `ignored` words do not count. */
export function factsAsked(facts: readonly Fact[], asked: Words, ignored: ReadonlySet<string> = new Set()): Fact[] {
  return facts
    .filter(({ key }) => {
      const own = readWords(splitName(key));
      const things = shared(own.things, asked.things).filter((thing) => !ignored.has(thing));
      return things.length + shared(own.rest, asked.rest).length > 0;
    })
    .slice(0, mostAnswered);
}
