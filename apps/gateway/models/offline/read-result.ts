// Reads the results of tools: their text, and their members as facts that a question can ask for.
import { isJsonObject, type Json } from '#libs/schemas/json.js';
import { parseJson } from './conversation.js';
import { readWords, shared, splitName, type Words } from './words.js';

const textMembers = ['content', 'body', 'text', 'data', 'output', 'result'];
const aboutText =
  /^(?:content|body|text|data|output|result|status|statuscode|status_code|headers|url|path|size|bytes|encoding|success|ok|content_type|contenttype|mime_?type|truncated|lines?|total_?lines|type|name|file_?name)$/i;
const mostFacts = 500;

export interface Fact {
  key: string;
  path: string;
  value: string;
}

/** The text of a result: the result itself, or the text member of a JSON envelope. */
export function resultText(result: string): string {
  const value = result.length < 2_000_000 && result.trimStart().startsWith('{') ? parseJson(result) : undefined;
  if (!isJsonObject(value) || !Object.keys(value).every((key) => aboutText.test(key))) return result;
  const member = textMembers.find((name) => typeof value[name] === 'string');
  return member === undefined ? result : (value[member] as string);
}

export function factsIn(result: string): Fact[] {
  const text = resultText(result).slice(0, 200_000);
  const value = parseJson(text);
  const facts: Fact[] = [];
  if (typeof value === 'object' && value !== null) collect(value, '', facts);
  else {
    for (const match of text.matchAll(
      /^[ \t>*-]{0,8}["']?([\p{L}_][\p{L}\d_. -]{0,40}?)["']?[ \t]{0,8}[:=：][ \t]{0,8}(\S[^\n]{0,300})$/gmu,
    )) {
      if (facts.length >= mostFacts) break;
      facts.push({ key: match[1]!, path: match[1]!, value: match[2]!.trim().replace(/^["'](.*)["'],?$/, '$1') });
    }
  }
  return facts;
}

function collect(value: Json, path: string, facts: Fact[], depth = 0): void {
  if (facts.length >= mostFacts || depth > 12 || typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    const place = path === '' ? key : `${path}.${key}`;
    if (typeof member === 'object' && member !== null) {
      if (Array.isArray(member) && member.length <= 20 && member.every((item) => typeof item !== 'object'))
        facts.push({ key, path: place, value: member.join(', ') });
      else collect(member, place, facts, depth + 1);
    } else facts.push({ key, path: place, value: String(member) });
    if (facts.length >= mostFacts) return;
  }
}

/** The facts whose names are among the words, in either language. `ignored` words do not count. */
export function factsAsked(facts: readonly Fact[], asked: Words, ignored: ReadonlySet<string>): Fact[] {
  const scored = facts.map((fact) => ({ fact, score: likeness(readWords(splitName(fact.key)), asked, ignored) }));
  const most = Math.max(0, ...scored.map(({ score }) => score));
  return most === 0
    ? []
    : scored
        .filter(({ score }) => score === most || score >= 2)
        .map(({ fact }) => fact)
        .slice(0, 10);
}

function likeness(key: Words, asked: Words, ignored: ReadonlySet<string>): number {
  const things = shared(key.things, asked.things).filter((thing) => !ignored.has(thing));
  return 2 * things.length + 2 * shared(key.rest, asked.rest).length;
}
