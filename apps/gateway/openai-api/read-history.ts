// Translates messages in the other forms of chat completions to those of tools: calls of custom tools, and `function_call`
// with results of role `function`, which have no ids: a result belongs to the first open call of its name before it.
import { AppError } from '#libs/schemas/errors.js';
import type { AssistantMessage, ChatMessage, ToolCall, ToolMessage } from '#libs/schemas/message.js';
import { toArguments } from '../chat-apis/free-text.js';
import { toCall } from '../chat-apis/read-rounds.js';
import type { ChatRequestBody } from './chat-request.schema.js';

type BodyMessage = ChatRequestBody['messages'][number];
type BodyAssistant = Extract<BodyMessage, { role: 'assistant' }>;
type BodyResult = Extract<BodyMessage, { role: 'function' }>;

/** @throws AppError invalid_value for a result without a call */
export function readHistory(messages: ChatRequestBody['messages']): ChatMessage[] {
  if (!messages.some(isOtherForm)) return messages as unknown as ChatMessage[];
  /** By name: the ids of calls without a result. */
  const open = new Map<string, string[]>();
  return messages.map((message, at): ChatMessage => {
    if (message.role === 'function') return readResult(message, open, at);
    return message.role === 'assistant' && isOtherForm(message)
      ? readAssistant(message, open, at)
      : (message as unknown as ChatMessage);
  });
}

function isOtherForm(message: BodyMessage): boolean {
  if (message.role === 'function') return true;
  if (message.role !== 'assistant') return false;
  return message.function_call !== undefined || message.tool_calls?.some(({ type }) => type === 'custom') === true;
}

function readAssistant(message: BodyAssistant, open: Map<string, string[]>, at: number): AssistantMessage {
  const { function_call: called, tool_calls: calls = [], ...rest } = message;
  if (called === undefined) return { ...rest, tool_calls: calls.map(readCall) } as AssistantMessage;
  const id = `call_of_message_${at}`;
  const ids = open.get(called.name);
  if (ids === undefined) open.set(called.name, [id]);
  else ids.push(id);
  return { ...rest, tool_calls: [toCall(id, called.name, called.arguments)] } as AssistantMessage;
}

function readCall(call: NonNullable<BodyAssistant['tool_calls']>[number]): ToolCall {
  if (call.type === 'function') return call;
  const { name, input } = call.custom;
  return toCall(call.id, name, toArguments(input));
}

function readResult({ name, content }: BodyResult, open: Map<string, string[]>, at: number): ToolMessage {
  const id = open.get(name)?.shift();
  if (id !== undefined) return { role: 'tool', tool_call_id: id, content: (content ?? '') as ToolMessage['content'] };
  const message = `This result does not answer a call of '${name}' in an earlier message`;
  throw new AppError('invalid_value', message, { param: `messages[${at}].name` });
}
