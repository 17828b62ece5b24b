// What a conversation asks now and what was already done for it: stateless, from the messages alone, so that automatic and
// manual tool use read alike.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { messageText, type ChatMessage } from '#libs/schemas/message.js';
import { languageOf } from './words.js';

export interface Step {
  name: string;
  arguments: JsonObject;
  /** Undefined while no result came. */
  result?: string;
  failed: boolean;
}

export interface Conversation {
  request: string;
  language: 'zh' | 'en';
  /** Calls since the last user message, in order. */
  steps: Step[];
  /** Calls of earlier turns, in order. */
  before: Step[];
  /** What the user said in earlier turns. */
  said: string[];
}

export function readConversation(messages: readonly ChatMessage[]): Conversation {
  const last = messages.findLastIndex((message) => message.role === 'user');
  const request = messageText(messages[last]?.role === 'user' ? messages[last].content : '');
  const said = messages
    .slice(0, Math.max(0, last))
    .flatMap((message) => (message.role === 'user' ? [messageText(message.content)] : []));
  const steps = readSteps(messages.slice(last + 1));
  const sample = request === '' ? (steps.at(-1)?.result ?? said.at(-1) ?? '') : request;
  return {
    request,
    language: languageOf(sample),
    steps,
    before: readSteps(messages.slice(0, Math.max(0, last))),
    said,
  };
}

function readSteps(messages: readonly ChatMessage[]): Step[] {
  const steps: Step[] = [];
  const open = new Map<string, Step>();
  for (const message of messages) {
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) {
        const step: Step = { name: call.function.name, arguments: parseObject(call.function.arguments), failed: false };
        steps.push(step);
        open.set(call.id, step);
      }
    } else if (message.role === 'tool') {
      let step = open.get(message.tool_call_id);
      if (step === undefined || step.result !== undefined) {
        step = { name: 'tool', arguments: {}, failed: false };
        steps.push(step);
      }
      step.result = messageText(message.content);
      step.failed = message.is_error === true || readsAsFailure(step.result);
    }
  }
  return steps;
}

export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function parseObject(text: string): JsonObject {
  const value = parseJson(text);
  return isJsonObject(value) ? value : {};
}

/** A result without an error flag that says itself that it failed: its own error member, or a short error message. */
export function readsAsFailure(text: string): boolean {
  const start = text.slice(0, 400).trim();
  if (start.startsWith('{')) {
    const value = text.length < 100_000 ? parseJson(text) : undefined;
    if (!isJsonObject(value)) return false;
    const error = value['error'];
    if (typeof error === 'string' ? error !== '' : isJsonObject(error)) return true;
    return (
      value['success'] === false || value['ok'] === false || value['isError'] === true || value['is_error'] === true
    );
  }
  if (/^(?:\W{0,3})(?:error|failed|failure|exception|traceback|fatal|e[a-z]{4,8}:|错误|失败|出错|异常)/i.test(start))
    return true;
  return text.length < 200 && isMissing(text) && !/\n/.test(text.trim());
}

/** The failure says that the thing is not there. */
export function isMissing(text: string): boolean {
  return /no such file|does ?n[o']t exist|not found|cannot find|ENOENT|不存在|找不到|未找到|没有找到/i.test(
    text.slice(0, 2000),
  );
}

/** One order of members, so that equal calls are equal text. */
export function canonical(value: Json): string {
  return JSON.stringify(value, (_key, member: Json) =>
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)))
      : member,
  );
}
