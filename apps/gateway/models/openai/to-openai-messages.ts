// Translates messages for an OpenAI-compatible upstream: removes our own fields, maps names and ids, replays reasoning
// where configured. A message that needs no change is returned as the same object.
import { createHash } from 'node:crypto';
import type { ProviderConfig } from '#libs/config/schema.js';
import type { AssistantMessage, ChatMessage, ToolCall, UserMessage } from '#libs/schemas/message.js';
import type { ToolNames } from '../conversation/tool-names.js';
import type { Warnings } from '../conversation/warnings.js';
import { toOpenAiContent } from './to-openai-content.js';

export interface MessageRules {
  /** Only the `provider_state` of this provider is read. */
  provider: string;
  reasoningReplay: ProviderConfig['reasoning_replay'];
  callIds: ProviderConfig['call_ids'];
  names: ToolNames;
  model: string;
  warnings: Warnings;
}

export function toOpenAiMessages(messages: readonly ChatMessage[], rules: MessageRules): object[] {
  return messages.map((message) => {
    if (message.role === 'assistant') return toAssistant(message, rules);
    if (message.role === 'user') return toUser(message, rules);
    if (message.role !== 'tool') return message;
    const id = wireCallId(message.tool_call_id, rules.callIds);
    if (id === message.tool_call_id && !('is_error' in message) && !('blocks' in message)) return message;
    // The API accepts only text, and `content` names the blocks that are no text.
    const { is_error: _isError, blocks: _blocks, ...wire } = message;
    return { ...wire, tool_call_id: id };
  });
}

function toUser(message: UserMessage, { model, warnings }: MessageRules): UserMessage {
  const content = toOpenAiContent(message.content, model, warnings);
  return content === message.content ? message : { ...message, content };
}

function toAssistant(message: AssistantMessage, rules: MessageRules): object {
  const calls = message.tool_calls;
  const reasoning = replayedReasoning(message, rules);
  const sameReasoning = reasoning === message.reasoning_content;
  const sameCalls = calls === undefined || calls.every((call) => toWireCall(call, rules) === call);
  if (sameReasoning && sameCalls && !('provider_state' in message)) return message;
  const { provider_state: _, reasoning_content: __, ...wire } = message;
  return {
    ...wire,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls !== undefined && { tool_calls: calls.map((call) => toWireCall(call, rules)) }),
  };
}

/**
 * DeepSeek's thinking models require the reasoning of turns that called tools, even if it is empty. Its older models
 * refuse it.
 */
function replayedReasoning(message: AssistantMessage, rules: MessageRules): string | undefined {
  if (rules.reasoningReplay === 'never') return undefined;
  const called = (message.tool_calls?.length ?? 0) > 0;
  if (rules.reasoningReplay === 'tool_turns' && !called) return undefined;
  const state = message.provider_state;
  const stored = state?.provider === rules.provider ? state.state['reasoning_content'] : undefined;
  const known = message.reasoning_content ?? (typeof stored === 'string' ? stored : undefined);
  return known ?? (called ? '' : undefined);
}

function toWireCall(call: ToolCall, rules: MessageRules): ToolCall {
  const id = wireCallId(call.id, rules.callIds);
  const name = rules.names.toWire(call.function.name);
  if (id === call.id && name === call.function.name) return call;
  return { ...call, id, function: { ...call.function, name } };
}

/** Mistral requires nine letters or digits. The same id always gives the same nine. */
export function wireCallId(id: string, rule: ProviderConfig['call_ids']): string {
  if (rule === 'minted' || /^[A-Za-z0-9]{9}$/.test(id)) return id;
  return createHash('sha256')
    .update(id)
    .digest('base64')
    .replace(/[^A-Za-z0-9]/g, '')
    .slice(0, 9);
}
