// Items of an input that models of other providers do not know: calls and results of OpenAI's other tools are told as calls
// and results, everything else as its text. What is encrypted is only named.
import { isJsonObject, textOrEmpty, type JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage, ToolMessage } from '#libs/schemas/message.js';
import { toCall, type TurnPiece } from '../chat-apis/read-rounds.js';
import { tellContent, type TypedContent } from '../chat-apis/tell-content.js';

export const isResult = (message: ChatMessage): message is ToolMessage => message.role === 'tool';

/** A part of the assistant's turn, or a message of its own. */
export function readOtherItem(given: TypedContent): TurnPiece | ChatMessage {
  const item = given as JsonObject & { type: string };
  const { type } = item;
  const id = textOrEmpty(item['call_id'] ?? item['id']);
  // `local_shell_call_output` has the id of its call as `id`.
  if (type.endsWith('_output') && id !== '') {
    return { role: 'tool', tool_call_id: id, content: tellContent(item) };
  }
  if (type.endsWith('_call') && typeof item['call_id'] === 'string' && id !== '') {
    const asked = item['action'] ?? item['operation'] ?? item['arguments'] ?? {};
    const args = typeof asked === 'string' ? asked : JSON.stringify(asked);
    return { type: 'call', call: toCall(id, type.slice(0, -'_call'.length), args), here: false };
  }
  const text = tellContent(item);
  return isJsonObject(item['action']) || item['content'] === undefined
    ? { type: 'text', text }
    : { role: 'user', content: text };
}
