// Translates messages for an OpenAI-compatible upstream: removes our own fields, maps names and ids, repeats members that the
// provider wants back, and rewrites what its server refuses. A message that needs no change is the same object.
import { createHash } from 'node:crypto';
import type { ProviderConfig } from '#libs/config/schema.js';
import {
  type AssistantMessage,
  type ChatMessage,
  type ContentPart,
  messageText,
  type SystemMessage,
  type ToolCall,
  type ToolMessage,
  type UserMessage,
} from '#libs/schemas/message.js';
import { arrangeResults } from '../conversation/arrange-results.js';
import { labelled, resultContent } from '../conversation/result-pictures.js';
import type { ToolNames } from '../conversation/tool-names.js';
import type { Warnings } from '../conversation/warnings.js';
import type { ServedModel } from './compatible/known-servers.js';
import { knownMembers } from './compatible/known-members.js';
import { replayed, withoutForeignMembers } from './compatible/replayed-members.js';
import { toOpenAiContent } from './to-openai-content.js';

export interface OpenAiMessageRules {
  /** Only the `provider_state` of this provider is read. */
  provider: string;
  reasoningReplay: ProviderConfig['reasoning_replay'];
  callIds: ProviderConfig['call_ids'];
  names: ToolNames;
  served: ServedModel;
  model: string;
  warnings: Warnings;
}

type WireMessage = Partial<AssistantMessage> | Exclude<ChatMessage, AssistantMessage>;

export function toOpenAiMessages(history: readonly ChatMessage[], rules: OpenAiMessageRules): object[] {
  const wire: WireMessage[] = [];
  /** Pictures of the results since the last assistant message. */
  let pictures: ContentPart[] = [];
  const put = (written: WireMessage) => {
    const message = rules.served.isStrict
      ? withText(knownMembers(written, rules.served))
      : knownMembers(written, rules.served);
    const last = wire.at(-1);
    if (message.role === 'user' && last?.role === 'tool' && rules.served.answersResults) wire.push(blankAnswer);
    // The results of both messages follow the second.
    const isSecond = message.role === 'assistant' && message.tool_calls !== undefined;
    if (isSecond && last?.role === 'assistant' && last.tool_calls !== undefined)
      wire[wire.length - 1] = joined(last, message);
    else wire.push(message);
  };
  const endRound = () => {
    if (pictures.length > 0) put({ role: 'user', content: labelled(pictures) });
    pictures = [];
  };
  for (const message of arrangeResults(history)) {
    if (message.role === 'tool') {
      put(toResult(message, rules, pictures));
      continue;
    }
    endRound();
    put(message.role === 'assistant' ? toAssistant(message, rules) : toInput(message, rules));
  }
  endRound();
  return wire;
}

/** Mistral refuses an assistant message without calls and any text. */
const blankAnswer: AssistantMessage = { role: 'assistant', content: ' ' };

function withText(message: WireMessage): WireMessage {
  if (message.role !== 'assistant' || message.tool_calls !== undefined) return message;
  return messageText(message.content) === '' ? { ...message, content: blankAnswer.content } : message;
}

function toInput(message: SystemMessage | UserMessage, rules: OpenAiMessageRules): ChatMessage {
  if (message.role === 'developer' && !rules.served.takesDeveloper) return { ...message, role: 'system' };
  if (message.role !== 'user') return message;
  const content = toOpenAiContent(message.content, rules.model, rules.warnings);
  return content === message.content ? message : { ...message, content };
}

function toResult(message: ToolMessage, rules: OpenAiMessageRules, pictures: ContentPart[]): ToolMessage {
  const id = wireCallId(message.tool_call_id, rules.callIds);
  const content = resultContent(message, rules.served.takesPictures, pictures);
  const isSame = id === message.tool_call_id && content === message.content;
  if (isSame && !('is_error' in message) && !('blocks' in message)) return message;
  const { is_error: _isError, blocks: _blocks, ...wire } = message;
  return { ...wire, content, tool_call_id: id };
}

function toAssistant(given: AssistantMessage, rules: OpenAiMessageRules): AssistantMessage {
  const message = withoutForeignMembers(given, rules.provider);
  const calls = message.tool_calls?.map((call) => toWireCall(call, rules));
  const reasoning = replayedReasoning(message, rules);
  const sameReasoning = reasoning === message.reasoning_content;
  const sameCalls = calls === undefined || calls.every((call, at) => call === message.tool_calls![at]);
  if (sameReasoning && sameCalls && !('provider_state' in message)) return message;
  const { provider_state: _, reasoning_content: __, ...wire } = message;
  const kept = replayed(message, rules.provider, calls?.map(({ id }) => id) ?? []);
  return {
    ...kept?.message,
    ...wire,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls !== undefined && { tool_calls: calls.map((call, at) => ({ ...kept?.calls[at], ...call })) }),
  };
}

/**
 * DeepSeek's thinking models require the reasoning of turns that called tools, even if it is empty. Its older models
 * refuse it.
 */
function replayedReasoning(message: AssistantMessage, rules: OpenAiMessageRules): string | undefined {
  if (rules.reasoningReplay === 'never') return undefined;
  const called = (message.tool_calls?.length ?? 0) > 0;
  if (rules.reasoningReplay === 'tool_turns' && !called) return undefined;
  const state = message.provider_state;
  const stored = state?.provider === rules.provider ? state.state['reasoning_content'] : undefined;
  const known = message.reasoning_content ?? (typeof stored === 'string' ? stored : undefined);
  return known ?? (called ? '' : undefined);
}

/** Two messages as one, which the API requires of calls whose results come together. */
function joined(first: Partial<AssistantMessage>, second: Partial<AssistantMessage>): Partial<AssistantMessage> {
  const texts = [first.content, second.content].map((content) => messageText(content)).filter((text) => text !== '');
  return {
    ...first,
    ...second,
    content: texts.length === 0 ? null : texts.join('\n\n'),
    tool_calls: [...(first.tool_calls ?? []), ...(second.tool_calls ?? [])],
  };
}

function toWireCall(call: ToolCall, rules: OpenAiMessageRules): ToolCall {
  const id = wireCallId(call.id, rules.callIds);
  const name = rules.names.toWire(call.function.name);
  // Servers that parse the arguments fail on empty text.
  const args = call.function.arguments.trim() === '' ? '{}' : call.function.arguments;
  if (id === call.id && name === call.function.name && args === call.function.arguments) return call;
  return { ...call, id, function: { ...call.function, name, arguments: args } };
}

/** OpenAI refuses longer ids. */
const longestId = 40;

/** Mistral requires nine letters or digits. The same id always gives the same text. */
export function wireCallId(id: string, rule: ProviderConfig['call_ids']): string {
  if (rule === 'minted') return id.length <= longestId ? id : `call_${digest(id).toString('hex').slice(0, 32)}`;
  if (/^[A-Za-z0-9]{9}$/.test(id)) return id;
  return digest(id)
    .toString('base64')
    .replace(/[^A-Za-z0-9]/g, '')
    .slice(0, 9);
}

const digest = (id: string): Buffer => createHash('sha256').update(id).digest();
