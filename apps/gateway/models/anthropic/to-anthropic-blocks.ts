// Translates content parts and tool results to Anthropic's blocks. Leaves out empty text, which the API refuses.
import type { JsonObject } from '#libs/schemas/json.js';
import type { MessageContent, ToolMessage } from '#libs/schemas/message.js';
import { readContent, readResult, unsupported, type ReadPart } from '../conversation/read-content-part.js';

/** @throws AppError invalid_value for parts that the API does not support */
export function toBlocks(content: MessageContent | null, provider: string): JsonObject[] {
  return readContent(content).flatMap((part) => {
    if (part.kind === 'text') return textBlocks(part.text);
    const block = mediaBlock(part);
    if (block === undefined) throw unsupported(provider, describe(part));
    return [block];
  });
}

export function toResultBlock(message: ToolMessage, id: string): JsonObject {
  const parts = readResult(message);
  const content = parts.flatMap((part) => {
    if (part.kind === 'text') return textBlocks(part.text);
    return [mediaBlock(part) ?? { type: 'text', text: `[${describe(part)}]` }];
  });
  // The API refuses an error without content.
  if (content.length === 0 && message.is_error === true)
    content.push(...textBlocks('The tool failed and said nothing.'));
  const onlyText = content.length === 1 && content[0]?.['type'] === 'text';
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(content.length > 0 && { content: onlyText ? content[0]!['text']! : content }),
    ...(message.is_error === true && { is_error: true }),
  };
}

export const textBlocks = (text: string): JsonObject[] => (text.trim() === '' ? [] : [{ type: 'text', text }]);

const describe = (part: ReadPart) =>
  part.kind === 'data' ? part.mediaType : part.kind === 'other' ? `${part.type} content` : part.kind;

const images = /^image\/(?:jpeg|png|gif|webp)$/i;

function mediaBlock(part: Exclude<ReadPart, { kind: 'text' }>): JsonObject | undefined {
  switch (part.kind) {
    case 'url':
      return { type: part.image ? 'image' : 'document', source: { type: 'url', url: part.url } };
    case 'data': {
      const { mediaType, data, name } = part;
      const title: JsonObject = name === undefined ? {} : { title: name };
      if (images.test(mediaType)) {
        return { type: 'image', source: { type: 'base64', media_type: mediaType.toLowerCase(), data } };
      }
      if (mediaType === 'application/pdf') {
        return { type: 'document', source: { type: 'base64', media_type: mediaType, data }, ...title };
      }
      if (!mediaType.startsWith('text/') && mediaType !== 'application/json') return undefined;
      const text = Buffer.from(data, 'base64').toString('utf8');
      return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...title };
    }
    case 'other':
      return undefined;
  }
}
