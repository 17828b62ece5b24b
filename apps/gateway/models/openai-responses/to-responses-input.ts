// Translates a history to the items of OpenAI's Responses API. The model's own items go back unchanged, in their old
// place: reasoning, the phase of a text, and its own ids of calls.
import { createHash } from 'node:crypto';
import { isJsonObject, textOrEmpty, type JsonObject } from '#libs/schemas/json.js';
import { messageText, type AssistantMessage, type ChatMessage, type ToolCall } from '#libs/schemas/message.js';
import { arrangeResults } from '../conversation/arrange-results.js';
import type { ToolNames } from '../conversation/tool-names.js';
import { toInputContent, toOutput, type ResponsesContentRules } from './to-responses-content.js';

export interface InputRules extends ResponsesContentRules {
  names: ToolNames;
}

/** @throws AppError invalid_value for content that the API does not support */
export function toResponsesInput(messages: readonly ChatMessage[], rules: InputRules): JsonObject[] {
  const ids = new CallIds();
  return arrangeResults(messages).flatMap((message): JsonObject[] => {
    switch (message.role) {
      case 'assistant':
        return assistantItems(message, rules, ids);
      case 'tool':
        return [{ type: 'function_call_output', call_id: ids.of(message.tool_call_id), output: toOutput(message) }];
      default:
        return [{ role: message.role, content: toInputContent(message.content, rules) }];
    }
  });
}

function assistantItems(message: AssistantMessage, { provider, names }: InputRules, ids: CallIds): JsonObject[] {
  const calls = message.tool_calls ?? [];
  const state = message.provider_state;
  const stored = state?.provider === provider ? state.state['output'] : undefined;
  if (!Array.isArray(stored)) {
    const said = messageText(message.content) || textOrEmpty(message.refusal ?? undefined);
    const text = said === '' ? [] : [{ role: 'assistant', content: said }];
    return [...text, ...calls.map((call) => toFunctionCall(call, names, ids))];
  }
  const rest = new Set(calls);
  const items = stored.filter(isJsonObject).flatMap((item) => {
    if (item['type'] !== 'function_call') return [item];
    const { call: place, call_id: sentId, ...members } = item;
    const call = calls[Number(place)];
    if (call === undefined || !rest.delete(call)) return [];
    ids.remember(call.id, textOrEmpty(sentId));
    return [{ ...members, ...toFunctionCall(call, names, ids) }];
  });
  return [...items, ...[...rest].map((call) => toFunctionCall(call, names, ids))];
}

function toFunctionCall({ id, function: called }: ToolCall, names: ToolNames, ids: CallIds): JsonObject {
  return {
    type: 'function_call',
    call_id: ids.of(id),
    name: names.toWire(called.name),
    arguments: called.arguments,
  };
}

/** The ids under which the API knows the calls of a history. */
class CallIds {
  private readonly sent = new Map<string, string>();
  private readonly used = new Set<string>();

  /** Compatible servers may repeat their ids; then our id is used. */
  remember(id: string, sentId: string): void {
    if (sentId === '' || this.used.has(sentId)) return;
    this.used.add(sentId);
    this.sent.set(id, sentId);
  }

  /** The API refuses ids of more than 64 characters; the same id always gives the same text. */
  of(id: string): string {
    const sent = this.sent.get(id);
    if (sent !== undefined || id.length <= 64) return sent ?? id;
    return `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
  }
}
