// Reads the current request and the calls made so far from the messages alone. Stateless, so that it does not matter
// whether the gateway or the client runs the tools.
import { jsonObjectOf, parseJsonObject, isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { messageText, type ChatMessage } from '#libs/schemas/message.js';
import { languageOf } from './words.js';

export interface Step {
  name: string;
  arguments: JsonObject;
  /** Undefined until there is a result. */
  result: string | undefined;
  failed: boolean;
}

export interface Conversation {
  request: string;
  language: 'zh' | 'en';
  /** Calls since the last user message, in order. */
  steps: Step[];
  /** Calls of earlier turns, in order. */
  before: Step[];
  /** The user's messages of earlier turns. */
  said: string[];
}

const errorText = /^\W{0,3}(?:error|failed|failure|exception|traceback|fatal|e[a-z]{4,8}:|错误|失败|出错|异常)/i;
const missing = /no such file|does ?n[o']t exist|not found|cannot find|ENOENT|不存在|找不到|未找到|没有找到/i;

export function readConversation(messages: readonly ChatMessage[]): Conversation {
  const last = messages.findLastIndex((message) => message.role === 'user');
  const earlier = messages.slice(0, Math.max(0, last));
  const request = last < 0 ? '' : messageText(messages[last]!.content);
  const said = earlier.flatMap((message) => (message.role === 'user' ? [messageText(message.content)] : []));
  const steps = readSteps(messages.slice(last + 1));
  const language = languageOf(request || (steps.at(-1)?.result ?? said.at(-1) ?? ''));
  return { request, language, steps, before: readSteps(earlier), said };
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
    return errorText.test(start) || (text.length < 200 && isMissing(start) && !start.includes('\n'));
  const value = text.length < 100_000 ? parseJsonObject(text) : undefined;
  const error = value?.['error'];
  return (typeof error === 'string' && error !== '') || isJsonObject(error) || value?.['success'] === false;
}

/** Whether an error says that something does not exist. */
export function isMissing(text: string): boolean {
  return missing.test(text.slice(0, 2000));
}
