// Translates a history to Anthropic's messages: alternating roles, all results of an assistant message first in the user
// message after it, and thinking unchanged in its old place.
import { createHash } from 'node:crypto';
import { isJsonObject, jsonObjectOf, type JsonObject } from '#libs/schemas/json.js';
import { type AssistantMessage, type ToolCall, type ToolMessage, originalOf } from '#libs/schemas/message.js';
import type { AssistantGroup, Conversation, UserGroup } from '../conversation/read-conversation.js';
import type { ToolNames } from '../conversation/tool-names.js';
import type { ToolSearches } from '../conversation/tool-searches.js';
import { takesPrefill } from './claude-models.js';
import { textBlocks, toBlocks, toResultBlock, type BlockRules } from './to-anthropic-blocks.js';

export interface AnthropicMessageRules extends BlockRules {
  /** Only the `provider_state` of this provider is read. */
  provider: string;
  names: ToolNames;
  /** The searches that are written in the API's own form. */
  searches?: ToolSearches | undefined;
}

export interface AnthropicMessage {
  role: 'user' | 'assistant';
  content: JsonObject[];
}

export function toAnthropicMessages({ groups }: Conversation, rules: AnthropicMessageRules): AnthropicMessage[] {
  const messages: AnthropicMessage[] = [];
  for (const group of groups) {
    const content = group.role === 'user' ? userBlocks(group, rules) : assistantBlocks(group, rules);
    // Without a user message the request would end with the assistant's.
    if (content.length === 0 && group.role === 'user' && group === groups.at(-1)) content.push(...nothingSaid);
    const last = messages.at(-1);
    if (last?.role === group.role) last.content.push(...content);
    else if (content.length > 0) messages.push({ role: group.role, content });
  }
  // The API requires a user message first.
  if (messages[0]?.role !== 'user') messages.unshift({ role: 'user', content: [...nothingSaid] });
  const last = messages.at(-1)!;
  if (last.role === 'assistant' && !takesPrefill(rules.model)) messages.push(goOn(rules));
  else trimPrefill(last);
  return messages;
}

/** In place of a blank message: the API refuses text that is only white space. */
const nothingSaid = textBlocks('…');

function goOn({ model, warnings }: AnthropicMessageRules): AnthropicMessage {
  const text = 'Continue.';
  warnings.add(`${model} refuses a conversation that ends with the assistant, so the user says '${text}'`, 'messages');
  return { role: 'user', content: textBlocks(text) };
}

/**
 * Whether calls of the current turn have lost their thinking (another model made them, or the client dropped it).
 * Models with a thinking budget refuse such a history while thinking is on.
 */
export function lacksThinking({ groups }: Conversation, provider: string): boolean {
  const began = groups.findLastIndex((group) => group.role === 'user' && group.messages.length > 0);
  return groups
    .slice(began + 1)
    .some((group) => group.role === 'assistant' && group.messages.some((message) => !stateOf(message, provider)));
}

function userBlocks(group: UserGroup, rules: AnthropicMessageRules): JsonObject[] {
  const results = group.results.map(
    (result) => toFoundBlock(result, rules) ?? toResultBlock(result, wireCallId(result.tool_call_id), rules),
  );
  return [...results, ...group.messages.flatMap((message) => toBlocks(message.content, rules))];
}

/**
 * The API puts the definitions of these tools in the place of the references. Undefined if nothing was found.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool#custom-tool-search-implementation
 */
function toFoundBlock(result: ToolMessage, { searches, names }: AnthropicMessageRules): JsonObject | undefined {
  const found = searches?.found.get(result) ?? [];
  if (found.length === 0) return undefined;
  const content = found.map(({ name }) => ({ type: 'tool_reference', tool_name: names.toWire(name) }));
  return { type: 'tool_result', tool_use_id: wireCallId(result.tool_call_id), content };
}

function assistantBlocks(group: AssistantGroup, rules: AnthropicMessageRules): JsonObject[] {
  return group.messages.flatMap((message) => {
    const calls = (message.tool_calls ?? []).map((call) => toToolUse(call, rules.names));
    const stored = stateOf(message, rules.provider) ?? ownBlocks(message);
    if (stored === undefined) {
      const said = message.content ?? (typeof message.refusal === 'string' ? message.refusal : null);
      return [...toBlocks(said, rules), ...calls];
    }
    const rest = new Set(calls);
    const blocks = stored.flatMap((block) => {
      if (typeof block['text'] === 'string') return block['text'].trim() === '' ? [] : [block];
      if (block['type'] !== 'tool_use') return [block];
      const call = calls[Number(block['call'])];
      return call !== undefined && rest.delete(call) ? [call] : [];
    });
    return [...blocks, ...rest];
  });
}

/** A caller's message with blocks that only this API knows, in the same form. */
function ownBlocks(message: AssistantMessage): JsonObject[] | undefined {
  const own = originalOf(message);
  return Array.isArray(own) ? own : undefined;
}

/** The stored blocks, with calls as positions in the message's `tool_calls`. */
function stateOf(message: AssistantMessage, provider: string): JsonObject[] | undefined {
  const state = message.provider_state;
  const content = state?.provider === provider ? state.state['content'] : undefined;
  return Array.isArray(content) ? content.filter(isJsonObject) : undefined;
}

function toToolUse({ id, function: called }: ToolCall, names: ToolNames): JsonObject {
  return {
    type: 'tool_use',
    id: wireCallId(id),
    name: names.toWire(called.name),
    input: jsonObjectOf(called.arguments),
  };
}

/** Replaces ids of clients that the API would refuse; the same id always gives the same text. */
function wireCallId(id: string): string {
  if (/^[A-Za-z0-9_-]{1,128}$/.test(id)) return id;
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
}

/** The API refuses a last assistant message that ends in white space. */
function trimPrefill(message: AnthropicMessage): void {
  const last = message.content.at(-1);
  if (message.role === 'assistant' && typeof last?.['text'] === 'string') {
    message.content[message.content.length - 1] = { ...last, text: last['text'].trimEnd() };
  }
}
