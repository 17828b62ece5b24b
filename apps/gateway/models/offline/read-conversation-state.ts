// Reads the current request and the calls made so far from the messages alone. Stateless, so that it does not matter
// whether the gateway or the client runs the tools.
import { isJsonObject, jsonObjectOf, parseJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { messageText, type ChatMessage } from '#libs/schemas/message.js';
import { languageOfRequest, splitName, termsOf, type Token } from './words.js';

export interface Step {
  name: string;
  arguments: JsonObject;
  /** Undefined until there is a result. */
  result: string | undefined;
  failed: boolean;
}

export interface ConversationState {
  request: string;
  language: 'zh' | 'en';
  /** Calls since the last user message, in order. */
  steps: Step[];
  before: Step[];
}

const errorText = /^\W{0,3}(?:error|failed|failure|exception|traceback|fatal|e[a-z]{4,8}:|错误|失败|出错|异常)/i;
/** Matches errors which say that something does not exist. */
export const missing = /no such file|does ?n[o']t exist|not found|cannot find|ENOENT|不存在|找不到|未找到|没有找到/i;

export function readConversationState(messages: readonly ChatMessage[]): ConversationState {
  const last = messages.findLastIndex((message) => message.role === 'user');
  const request = last < 0 ? '' : messageText(messages[last]!.content);
  const steps = readSteps(messages.slice(last + 1));
  const language = languageOfRequest(request || (steps.at(-1)?.result ?? ''));
  return { request, language, steps, before: readSteps(messages.slice(0, Math.max(0, last))) };
}

function readSteps(messages: readonly ChatMessage[]): Step[] {
  const steps: Step[] = [];
  const open = new Map<string, Step>();
  for (const message of messages) {
    if (message.role === 'assistant') {
      for (const { id, function: called } of message.tool_calls ?? []) {
        const step = { name: called.name, arguments: jsonObjectOf(called.arguments), result: undefined, failed: false };
        steps.push(step);
        open.set(id, step);
      }
    } else if (message.role === 'tool') {
      const step = open.get(message.tool_call_id) ?? { name: 'tool', arguments: {}, result: undefined, failed: false };
      if (!open.delete(message.tool_call_id)) steps.push(step);
      step.result = messageText(message.content);
      step.failed = message.is_error === true || readsAsFailure(step.result);
    }
  }
  return steps;
}

/** Whether a result without an error flag reports an error, by an error member or a short error message. */
function readsAsFailure(text: string): boolean {
  const start = text.slice(0, 400).trim();
  if (!start.startsWith('{'))
    return errorText.test(start) || (text.length < 200 && missing.test(start) && !start.includes('\n'));
  const value = text.length < 100_000 ? parseJsonObject(text) : undefined;
  const error = value?.['error'];
  return (typeof error === 'string' && error !== '') || isJsonObject(error) || value?.['success'] === false;
}

/** Members beside the text in a JSON envelope. */
const envelope =
  /^(?:status(?:_?code)?|headers|url|path|size|bytes|encoding|success|(?:content|mime)_?type|truncated)$/i;
const factLine = /^[ \t>*-]{0,8}["']?([\p{L}_][\p{L}\d_. -]{0,40}?)["']?[ \t]{0,8}[:=：][ \t]{0,8}(\S[^\n]{0,300})$/gmu;
const mostFacts = 500;

/** The text of a result: the result itself, or the one text of a JSON envelope. */
export function resultText(result: string): string {
  const value = result.length < 2_000_000 ? jsonObjectOf(result) : {};
  const members = Object.entries(value).filter(([name]) => !envelope.test(name));
  const [[name, text] = []] = members;
  const isText = members.length === 1 && /^(?:content|body|text|data|output|result)$/.test(name!);
  return isText && typeof text === 'string' ? text : result;
}

/** A member of a result that a question can ask for. */
export interface Fact {
  path: string;
  value: string;
}

export function factsIn(result: string): Fact[] {
  const text = resultText(result).slice(0, 200_000);
  const facts: Fact[] = [];
  try {
    collect(JSON.parse(text) as Json, '', facts);
  } catch {
    for (const [, path, value] of text.matchAll(factLine))
      if (facts.length < mostFacts) facts.push({ path: path!, value: value!.trim().replace(/^["'](.*)["'],?$/, '$1') });
  }
  return facts;
}

function collect(value: Json, path: string, facts: Fact[], depth = 0): void {
  if (depth > 12 || facts.length >= mostFacts) return;
  if (typeof value !== 'object' || value === null) facts.push({ path, value: String(value) });
  else
    for (const [key, member] of Object.entries(value))
      collect(member, path === '' ? key : `${path}.${key}`, facts, depth + 1);
}

/** The facts that the words ask for in either language, each with the word that does. `ignored` terms do not count. */
export function factsAsked(
  facts: readonly Fact[],
  asked: readonly Token[],
  ignored: ReadonlySet<string>,
): (Fact & { word: string })[] {
  return facts.flatMap((fact) => {
    const own = termsOf(splitName(fact.path.split('.').at(-1)!));
    const word = asked.find(({ terms }) => terms.some((term) => own.has(term) && !ignored.has(term)));
    return word === undefined ? [] : [{ ...fact, word: word.text }];
  });
}
