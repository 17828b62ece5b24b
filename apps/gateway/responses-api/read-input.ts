// Translates the input items of a responses request to messages. `readRounds` splits an assistant's items into rounds.
import { anyImage, type ContentBlock, contentText } from '#libs/schemas/content-block.js';
import type { ChatMessage, ContentPart, MessageContent, ToolMessage } from '#libs/schemas/message.js';
import { toArguments } from '../chat-apis/free-text.js';
import { readRounds, toCall, type TurnPiece } from '../chat-apis/read-rounds.js';
import { describeContent, type TypedContent } from '../chat-apis/describe-content.js';
import type { JoinedNames } from './tools/joined-names.js';
import type { InputItem, InputPart, MessageItem, OutputPart } from './response-request.schema.js';
import { isJsonObject, textOrEmpty, type JsonObject } from '#libs/schemas/json.js';

type Item<Type extends InputItem['type']> = Extract<InputItem, { type: Type }>;
type OutputItem = Item<'function_call_output' | 'custom_tool_call_output'>;

export interface ReadInput {
  messages: ChatMessage[];
  paths: Map<ToolMessage, string>;
}

export function readInput(input: string | InputItem[] | undefined, names: JoinedNames): ReadInput {
  const paths: ReadInput['paths'] = new Map();
  if (typeof input === 'string') return { messages: [{ role: 'user', content: input }], paths };
  const messages: ChatMessage[] = [];
  let turn: TurnPiece[] = [];
  const endTurn = () => {
    if (turn.length > 0) messages.push(...readRounds(turn));
    turn = [];
  };
  (input ?? []).forEach((item, index) => {
    if (item.type === 'message' && item.role !== 'assistant') {
      endTurn();
      messages.push({ role: item.role, content: readContent(item.content) });
    } else if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
      endTurn();
      const result = readOutput(item);
      paths.set(result, `input[${index}].call_id`);
      messages.push(result);
    } else if (item.type === 'other') {
      const read = readOtherItem(item.given);
      if ('type' in read) turn.push(read);
      else {
        endTurn();
        if (isResult(read)) paths.set(read, `input[${index}]`);
        messages.push(read);
      }
    } else turn.push(...readPieces(item, names));
  });
  endTurn();
  return { messages, paths };
}

function readPieces(item: Exclude<InputItem, OutputItem | Item<'other'>>, names: JoinedNames): TurnPiece[] {
  switch (item.type) {
    case 'message':
      return [{ type: 'text', text: joined(item) }];
    case 'reasoning':
      return [{ type: 'reasoning', text: (item.content ?? item.summary).map(({ text }) => text).join('\n\n') }];
    case 'function_call':
      return [called(item, names.join(item.namespace, item.name), item.arguments)];
    case 'custom_tool_call':
      return [called(item, names.join(item.namespace, item.name), toArguments(item.input))];
    case 'mcp_call': {
      const { error } = item;
      const failed = error !== undefined && error !== null;
      const failure =
        failed && typeof error !== 'string' ? (error.content ?? []).map(({ text }) => text).join('\n') : error;
      const result: ToolMessage = {
        role: 'tool',
        tool_call_id: item.id,
        content: item.output ?? failure ?? '',
        ...(failed ? { is_error: true } : {}),
      };
      const call = toCall(item.id, item.name, item.arguments);
      return [
        { type: 'call', call, here: true },
        { type: 'result', result },
      ];
    }
    case 'mcp_list_tools':
    case 'additional_tools':
      return [];
  }
}

const called = ({ call_id: id }: { call_id: string }, name: string, args: string): TurnPiece => ({
  type: 'call',
  call: toCall(id, name, args),
  here: false,
});

const textOf = (part: InputPart): string =>
  'text' in part && typeof part.text === 'string' ? part.text : part.type === 'refusal' ? part.refusal : '';

const joined = ({ content }: MessageItem): string =>
  typeof content === 'string' ? content : content.map(textOf).join('');

function readContent(content: MessageItem['content']): MessageContent {
  if (typeof content === 'string') return content;
  const only = content.length === 1 ? content[0]! : undefined;
  return only !== undefined && only.type === 'input_text' ? only.text : content.map(readPart);
}

function readPart(part: InputPart): ContentPart {
  switch (part.type) {
    case 'input_image': {
      const { image_url: url, detail } = part;
      return { type: 'image_url', image_url: typeof detail === 'string' ? { url, detail } : { url } };
    }
    case 'input_file':
      return { type: 'file', file: { filename: part.filename ?? 'file', file_data: part.file_data } };
    case 'mcp_resource':
    case 'mcp_prompt':
      return part as ContentPart;
    case 'input_text':
    case 'output_text':
    case 'refusal':
      return { type: 'text', text: textOf(part) };
  }
}

function readOutput({ call_id, output }: OutputItem): ToolMessage {
  if (typeof output === 'string') return { role: 'tool', tool_call_id: call_id, content: output };
  const blocks = output.map((part: OutputPart): ContentBlock => {
    if (part.type === 'input_text') return { type: 'text', text: part.text };
    if (part.type === 'other') return { type: 'text', text: describeContent(part.given) };
    const url = part.type === 'input_image' ? part.image_url : part.file_data;
    const name = part.type === 'input_image' ? 'image' : (part.filename ?? 'file');
    const data = /^data:([^;,]+);base64,(.*)$/s.exec(url);
    const isImage = part.type === 'input_image';
    if (data === null) return { type: 'resource_link', uri: url, name, ...(isImage && { mimeType: anyImage }) };
    const [, mimeType, bytes] = data as unknown as [string, string, string];
    if (isImage) return { type: 'image', data: bytes, mimeType };
    return { type: 'resource', resource: { uri: `file:${name}`, mimeType, blob: bytes } };
  });
  const onlyText = blocks.every(({ type }) => type === 'text');
  return {
    role: 'tool',
    tool_call_id: call_id,
    content: contentText(blocks),
    ...(onlyText ? {} : { blocks }),
  };
}

const isResult = (message: ChatMessage): message is ToolMessage => message.role === 'tool';

/**
 * Reads an item that models of other providers do not know: calls and results of OpenAI's other tools become calls and results,
 * any other item becomes its text; encrypted content is only named. The result is a part of the assistant's round, or a message.
 */
function readOtherItem(given: TypedContent): TurnPiece | ChatMessage {
  const item = given as JsonObject & { type: string };
  const { type } = item;
  const id = textOrEmpty(item['call_id'] ?? item['id']);
  // `local_shell_call_output` has the id of its call as `id`.
  if (type.endsWith('_output') && id !== '') {
    return { role: 'tool', tool_call_id: id, content: describeContent(item) };
  }
  if (type.endsWith('_call') && typeof item['call_id'] === 'string' && id !== '') {
    const asked = item['action'] ?? item['operation'] ?? item['arguments'] ?? {};
    const args = typeof asked === 'string' ? asked : JSON.stringify(asked);
    return { type: 'call', call: toCall(id, type.slice(0, -'_call'.length), args), here: false };
  }
  const text = describeContent(item);
  return isJsonObject(item['action']) || item['content'] === undefined
    ? { type: 'text', text }
    : { role: 'user', content: text };
}
