// Translates a history to the items of OpenAI's Responses API. The model's own items go back unchanged, in their old
// place: reasoning, the phase of a text, and its own ids of calls.
import { createHash } from 'node:crypto';
import { isJsonObject, jsonObjectOf, textOrEmpty, type JsonObject } from '#libs/schemas/json.js';
import { messageText, type AssistantMessage, type ChatMessage, type ToolCall } from '#libs/schemas/message.js';
import { arrangeResults } from '../conversation/arrange-results.js';
import type { ToolNames } from '../conversation/tool-names.js';
import type { ToolSearches } from '../conversation/tool-searches.js';
import { toolWriter } from '../openai/to-openai-request.js';
import { toInputContent, toOutput, type ResponsesContentRules } from './to-responses-content.js';

export interface InputRules extends ResponsesContentRules {
  names: ToolNames;
  /** The searches that are written in the API's own form. */
  searches?: ToolSearches | undefined;
}

/** @throws AppError invalid_value for content that the API does not support */
export function toResponsesInput(messages: readonly ChatMessage[], rules: InputRules): JsonObject[] {
  const ids = new CallIds();
  /** Each tool is loaded once: a server may refuse the same name again. */
  const unloaded = new Set(rules.searches?.deferred);
  return arrangeResults(messages).flatMap((message): JsonObject[] => {
    switch (message.role) {
      case 'assistant':
        return assistantItems(message, rules, ids);
      case 'tool': {
        const call_id = ids.of(message.tool_call_id);
        const found = rules.searches?.found.get(message)?.filter(({ name }) => unloaded.delete(name));
        if (found === undefined) return [{ type: 'function_call_output', call_id, output: toOutput(message) }];
        const tools = found.map((tool) => JSON.parse(deferredTool(tool, rules.names)) as JsonObject);
        return [{ type: 'tool_search_output', execution: 'client', call_id, status: 'completed', tools }];
      }
      default:
        return [{ role: message.role, content: toInputContent(message.content, rules) }];
    }
  });
}

const deferredTool = toolWriter(({ strict = false, ...called }) => ({
  type: 'function',
  ...called,
  strict,
  defer_loading: true,
}));

function assistantItems(message: AssistantMessage, rules: InputRules, ids: CallIds): JsonObject[] {
  const { provider } = rules;
  const calls = message.tool_calls ?? [];
  const state = message.provider_state;
  const stored = state?.provider === provider ? state.state['output'] : undefined;
  if (!Array.isArray(stored)) {
    const said = messageText(message.content) || textOrEmpty(message.refusal ?? undefined);
    const text = said === '' ? [] : [{ role: 'assistant', content: said }];
    return [...text, ...calls.map((call) => toCall(call, rules, ids))];
  }
  const rest = new Set(calls);
  const items = stored.filter(isJsonObject).flatMap((item) => {
    const { type, call: place, call_id: sentId, namespace: _, ...members } = item;
    if (type !== 'function_call' && (type !== 'tool_search_call' || place === undefined)) return [item];
    const call = calls[Number(place)];
    if (call === undefined || !rest.delete(call)) return [];
    ids.remember(call.id, textOrEmpty(sentId));
    const written = toCall(call, rules, ids);
    return [written['type'] === type ? { ...members, ...written } : written];
  });
  return [...items, ...[...rest].map((call) => toCall(call, rules, ids))];
}

/**
 * A tool that a `tool_search_output` of the request loads is in the namespace of its name, and the API refuses a call of it without that.
 * https://developers.openai.com/api/docs/guides/tools-tool-search#client-executed-tool-search
 */
function toCall({ id, function: called }: ToolCall, { names, searches }: InputRules, ids: CallIds): JsonObject {
  const call_id = ids.of(id);
  if (called.name === searches?.name) {
    const given = jsonObjectOf(called.arguments);
    return { type: 'tool_search_call', execution: 'client', call_id, status: 'completed', arguments: given };
  }
  const name = names.toWire(called.name);
  const isDeferred = searches?.deferred.has(called.name) === true;
  return { type: 'function_call', call_id, name, ...(isDeferred && { namespace: name }), arguments: called.arguments };
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
