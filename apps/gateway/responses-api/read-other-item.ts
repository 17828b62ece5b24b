// Items of an input that models of other providers do not know: calls and results of OpenAI's other tools are told as calls
// and results, everything else as its text. What is encrypted is only named.
import { isJsonObject, textOrEmpty, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage, ToolMessage } from '#libs/schemas/message.js';
import { toCall, type TurnPiece } from '../chat-apis/read-rounds.js';

type OtherItem = Record<string, unknown> & { type: string };

export const isResult = (message: ChatMessage): message is ToolMessage => message.role === 'tool';

/** A part of the assistant's turn, or a message of its own. */
export function readOtherItem(given: OtherItem): TurnPiece | ChatMessage {
  const item = given as JsonObject & { type: string };
  const { type } = item;
  const id = textOrEmpty(item['call_id'] ?? item['id']);
  // `local_shell_call_output` has the id of its call as `id`.
  if (/_output$/.test(type) && id !== '') {
    return { role: 'tool', tool_call_id: id, content: tellPart(item) };
  }
  if (/_call$/.test(type) && typeof item['call_id'] === 'string' && id !== '') {
    const asked = item['action'] ?? item['operation'] ?? item['arguments'] ?? {};
    const args = typeof asked === 'string' ? asked : JSON.stringify(asked);
    return { type: 'call', call: toCall(id, type.replace(/_call$/, ''), args), here: false };
  }
  const text = tellPart(item);
  return isJsonObject(item['action']) || item['content'] === undefined
    ? { type: 'text', text }
    : { role: 'user', content: text };
}

/** The text in an item or a part, or else its type. */
export function tellPart(given: OtherItem): string {
  const part = given as JsonObject & { type: string };
  const text = textIn(part['text']) || textIn(part['output']) || textIn(part['content']) || textIn(part['tools']);
  if (text !== '') return text;
  const { action } = part;
  return isJsonObject(action) ? `[${part.type} ${JSON.stringify(action)}]` : `[${part.type}]`;
}

function textIn(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value
    .map((part) => {
      if (!isJsonObject(part)) return '';
      const { text, stdout, stderr, name, description } = part;
      const said = [text, stdout, stderr, name, description].filter((each) => typeof each === 'string' && each !== '');
      return said.join('\n');
    })
    .filter((text) => text !== '')
    .join('\n');
}
