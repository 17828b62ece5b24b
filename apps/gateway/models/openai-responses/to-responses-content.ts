// Translates content parts and tool results to the input parts of OpenAI's Responses API, which has text, pictures and
// files. Sound is described in text.
import { isJsonObject, textOrEmpty, type JsonObject } from '#libs/schemas/json.js';
import type { ContentPart, MessageContent, ToolMessage } from '#libs/schemas/message.js';
import { notTaken, plainMediaType, toSentPart } from '../conversation/media-types.js';
import { readContent, readToolMessage, unsupported, type ReadPart } from '../conversation/read-content-part.js';
import type { Warnings } from '../conversation/warnings.js';

export interface ResponsesContentRules {
  /** Only the `provider_state` of this provider is read. */
  provider: string;
  model: string;
  warnings: Warnings;
}

/** @throws AppError invalid_value for parts that the API does not support */
export function toInputContent(content: MessageContent, rules: ResponsesContentRules): string | JsonObject[] {
  return typeof content === 'string' ? content : content.map((part) => toInputPart(part, rules));
}

function toInputPart(part: ContentPart, { provider, model, warnings }: ResponsesContentRules): JsonObject {
  const given = part[part.type];
  if (part.type === 'file' && isJsonObject(given) && typeof given['file_id'] === 'string') {
    return { type: 'input_file', file_id: given['file_id'] };
  }
  const [read] = readContent([part]) as [ReadPart];
  if (read.kind === 'text') return inputText(read.text);
  const detail = isJsonObject(given) ? textOrEmpty(given['detail']) : '';
  const media = mediaPart(read, detail === '' ? 'auto' : detail);
  if (media !== undefined) return media;
  if (read.kind !== 'data') throw unsupported(provider, describe(read));
  const sent = toSentPart('openai', read);
  if ('text' in sent && sent.described === undefined) return inputText(sent.text);
  warnings.add(notTaken(model, plainMediaType(read.mediaType)), 'messages');
  return inputText(`[${describe(read)}]`);
}

/** The `output` of a `function_call_output`: text, or parts if there is a picture or a document. */
export function toOutput(message: ToolMessage): string | JsonObject[] {
  const parts = readToolMessage(message);
  const media = parts.map((part) => (part.kind === 'text' ? undefined : mediaPart(part, 'auto')));
  if (typeof message.content === 'string' && media.every((part) => part === undefined)) return message.content;
  return parts.map((part, at) => media[at] ?? inputText(part.kind === 'text' ? part.text : `[${describe(part)}]`));
}

const inputText = (text: string) => ({ type: 'input_text', text });

const describe = (part: ReadPart) =>
  part.kind === 'data' ? part.mediaType : part.kind === 'other' ? `${part.type} content` : part.kind;

/** https://developers.openai.com/api/docs/guides/file-inputs: documents and all kinds of text, no archives. */
const files = /^(?:text\/|application\/(?:pdf|json|xml|rtf|msword|vnd\.(?:openxmlformats|ms-)))/i;

function mediaPart(part: Exclude<ReadPart, { kind: 'text' }>, detail: string): JsonObject | undefined {
  if (part.kind === 'other') return undefined;
  if (part.kind === 'url') {
    const { url } = part;
    return part.image ? { type: 'input_image', image_url: url, detail } : { type: 'input_file', file_url: url };
  }
  const sent = toSentPart('openai', part);
  const { mediaType, data } = 'data' in sent ? sent : { mediaType: plainMediaType(part.mediaType), data: part.data };
  const url = `data:${mediaType};base64,${data}`;
  if ('data' in sent && mediaType.startsWith('image/')) return { type: 'input_image', image_url: url, detail };
  if (!files.test(mediaType)) return undefined;
  return { type: 'input_file', filename: part.name ?? `file.${mediaType.split('/')[1]!}`, file_data: url };
}
