// Renders the input items of a response, in a form that can be sent again: the previous conversation, then its own input.
import { z } from 'zod';
import type { StoredRun } from '#libs/runs/run-store.js';
import { type ContentBlock, contentText } from '#libs/schemas/content-block.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, textOrEmpty, type JsonObject } from '#libs/schemas/json.js';
import {
  messageText,
  type AssistantMessage,
  type ChatMessage,
  type ContentPart,
  type MessageContent,
  type ToolCall,
  type ToolMessage,
} from '#libs/schemas/message.js';
import type { TurnRequest } from '../turn/turn-request.js';
import { callerForms, type CallerForms } from '../chat-apis/caller-events.js';
import { textOf } from '../chat-apis/free-text.js';
import { validated } from '../chat-apis/invalid-value.js';

export interface InputItemPage {
  object: 'list';
  data: JsonObject[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

const pageSchema = z.looseObject({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().min(1).max(256).optional(),
});

/** `query` is the URL's. @throws AppError invalid_value */
export function pageOfInput(run: StoredRun, query: unknown): InputItemPage {
  const { limit, order, after } = validated(pageSchema, query);
  const items = inputItems(run);
  if (order === 'desc') items.reverse();
  const from = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && from === 0) {
    throw new AppError('invalid_value', 'after: no item of this response has this id', { param: 'after' });
  }
  const data = items.slice(from, from + limit);
  const idOf = (item: JsonObject | undefined) => (item?.['id'] as string | undefined) ?? null;
  return {
    object: 'list',
    data,
    first_id: idOf(data[0]),
    last_id: idOf(data.at(-1)),
    has_more: from + limit < items.length,
  };
}

function inputItems(run: StoredRun): JsonObject[] {
  const { history = [], messages, tools } = run.request as unknown as TurnRequest;
  const forms = new CallForms(callerForms(tools));
  // The ids must be the same each time.
  const stem = run.id.slice('run_'.length);
  return [...history, ...messages]
    .flatMap((message) => itemsOf(message, forms))
    .map((item, at) => ({ id: `${prefixes[item['type'] as string]}_${stem}i${at}`, ...item }));
}

const prefixes: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
};

/** Which calls the caller knows in which form, in the order of the messages. */
class CallForms {
  private readonly custom = new Set<string>();

  constructor(private readonly forms: CallerForms | undefined) {}

  call({ id, function: { name, arguments: args } }: ToolCall): JsonObject {
    const form = this.forms?.get(name);
    const namespace: JsonObject = form?.namespace === undefined ? {} : { namespace: form.namespace };
    const called = { call_id: id, name: form?.name ?? name, ...namespace };
    if (form?.custom !== true) return { type: 'function_call', ...called, arguments: args, status: 'completed' };
    this.custom.add(id);
    return { type: 'custom_tool_call', ...called, input: textOf(args), status: 'completed' };
  }

  outputType(id: string): string {
    return this.custom.has(id) ? 'custom_tool_call_output' : 'function_call_output';
  }
}

function itemsOf(message: ChatMessage, forms: CallForms): JsonObject[] {
  if (message.role === 'tool') return [outputOf(message, forms)];
  if (message.role === 'assistant') return assistantItems(message, forms);
  const content = partsOf(message.content).map(toInputPart);
  return [{ type: 'message', role: message.role, status: 'completed', content }];
}

function assistantItems(message: AssistantMessage, forms: CallForms): JsonObject[] {
  const { reasoning_content: reasoning = '', tool_calls: calls = [] } = message;
  const text = messageText(message.content);
  const part = { type: 'output_text', text, annotations: [], logprobs: [] };
  return [
    ...(reasoning === '' ? [] : [{ type: 'reasoning', summary: [{ type: 'summary_text', text: reasoning }] }]),
    ...(text === '' ? [] : [{ type: 'message', role: 'assistant', status: 'completed', content: [part] }]),
    ...calls.map((call) => forms.call(call)),
  ];
}

function outputOf({ tool_call_id, content, blocks }: ToolMessage, forms: CallForms): JsonObject {
  const output = blocks === undefined ? messageText(content) : blocks.map(blockPart);
  return { type: forms.outputType(tool_call_id), call_id: tool_call_id, output, status: 'completed' };
}

const partsOf = (content: MessageContent): ContentPart[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

function toInputPart(part: ContentPart): JsonObject {
  const { image_url: image, file } = part;
  if (part.type === 'image_url' && isJsonObject(image)) {
    return { type: 'input_image', image_url: image['url'] ?? null, detail: image['detail'] ?? 'auto', file_id: null };
  }
  if (part.type === 'file' && isJsonObject(file)) {
    return { type: 'input_file', filename: file['filename'] ?? 'file', file_data: file['file_data'] ?? '' };
  }
  return { type: 'input_text', text: textOrEmpty(part['text']) };
}

/** Translates a block to a part of `function_call_output`. Other types become text. */
function blockPart(block: ContentBlock): JsonObject {
  switch (block.type) {
    case 'image':
      return { type: 'input_image', image_url: `data:${block.mimeType};base64,${block.data}`, detail: 'auto' };
    case 'resource_link':
      return { type: 'input_image', image_url: block.uri, detail: 'auto' };
    case 'resource': {
      const { uri, blob, mimeType = 'application/octet-stream' } = block.resource;
      if (blob === undefined) return { type: 'input_text', text: contentText([block]) };
      return { type: 'input_file', filename: uri.replace(/^file:/, ''), file_data: `data:${mimeType};base64,${blob}` };
    }
    default:
      return { type: 'input_text', text: contentText([block]) };
  }
}
