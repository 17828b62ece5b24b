// Reads a content part in any of its forms as text, bytes with a media type, or a URL. Each family refuses the kinds that
// its API does not support.
import type { ContentBlock } from '#libs/schemas/content-block.js';
import { anyImage, contentText } from '#libs/schemas/content-block.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, textOrEmpty } from '#libs/schemas/json.js';
import type { ContentPart, MessageContent, ToolMessage } from '#libs/schemas/message.js';

export type ReadPart =
  | { kind: 'text'; text: string }
  /** `data` is base64 text. */
  | { kind: 'data'; mediaType: string; data: string; name?: string }
  | { kind: 'url'; url: string; image: boolean }
  | { kind: 'other'; type: string };

/** @throws AppError invalid_value for a malformed data URL */
export function readContent(content: MessageContent | null): ReadPart[] {
  if (content === null) return [];
  return typeof content === 'string' ? [{ kind: 'text', text: content }] : content.map(readPart);
}

/** The blocks of a tool's result, or its text if there are none. */
export function readToolMessage(message: ToolMessage): ReadPart[] {
  return message.blocks === undefined ? readContent(message.content) : message.blocks.map(readBlock);
}

export function unsupported(provider: string, what: string, param = 'messages'): AppError {
  return new AppError('invalid_value', `Models of provider '${provider}' do not support ${what}`, { param });
}

/** @throws AppError invalid_value for a malformed data URL */
export function readPart(part: ContentPart): ReadPart {
  const { type } = part;
  const member = part[type];
  if (type === 'text' || type === 'refusal') return { kind: 'text', text: textOrEmpty(member) };
  if (!isJsonObject(member)) return { kind: 'other', type };
  if (type === 'image_url' && typeof member['url'] === 'string') return fromUrl(member['url'], true);
  const { data, format } = member;
  if (type === 'input_audio' && typeof data === 'string' && typeof format === 'string') {
    return { kind: 'data', mediaType: `audio/${format}`, data };
  }
  if (type === 'file' && typeof member['file_data'] === 'string') {
    const name = member['filename'];
    return { ...fromUrl(member['file_data'], false), ...(typeof name === 'string' && { name }) };
  }
  return { kind: 'other', type };
}

export function readBlock(block: ContentBlock): ReadPart {
  if (block.type === 'image' || block.type === 'audio') {
    return { kind: 'data', mediaType: block.mimeType, data: block.data };
  }
  if (block.type === 'resource' && block.resource.blob !== undefined && block.resource.mimeType !== undefined) {
    return { kind: 'data', mediaType: block.resource.mimeType, data: block.resource.blob };
  }
  if (block.type === 'resource_link' && block.mimeType === anyImage)
    return { kind: 'url', url: block.uri, image: true };
  return { kind: 'text', text: contentText([block]) };
}

function fromUrl(url: string, image: boolean): ReadPart {
  if (!/^data:/i.test(url)) return { kind: 'url', url, image };
  const comma = url.indexOf(',');
  const [mediaType = '', ...options] = url.slice('data:'.length, comma).split(';');
  if (comma === -1 || !mediaType.includes('/')) {
    throw new AppError('invalid_value', 'A data URL must be data:<media type>;base64,<data>', { param: 'messages' });
  }
  const data = url.slice(comma + 1);
  if (options.at(-1)?.toLowerCase() === 'base64') return { kind: 'data', mediaType, data };
  return { kind: 'data', mediaType, data: Buffer.from(decoded(data)).toString('base64') };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
