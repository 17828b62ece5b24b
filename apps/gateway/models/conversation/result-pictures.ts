// Writes the results of tools for models whose results are text. Pictures go into a user message behind the results of the
// round, where the model takes them; anything else that is no text is named in the text.
import { contentText } from '#libs/schemas/content-block.js';
import type { ContentPart, MessageContent, ToolMessage } from '#libs/schemas/message.js';
import { toSentPart } from './media-types.js';
import { readBlock, readPart, type ReadPart } from './read-content-part.js';

export function resultContent(message: ToolMessage, takesPictures: boolean, pictures: ContentPart[]): MessageContent {
  const { content, blocks } = message;
  const placed = (part: ReadPart, name: string): string => {
    const url = takesPictures ? pictureUrl(part) : undefined;
    if (url === undefined) return `[${name}]`;
    pictures.push({ type: 'image_url', image_url: { url } });
    return `[${name}: picture ${pictures.length} below]`;
  };
  if (blocks !== undefined) {
    // `content` already names the parts that are no text.
    if (!takesPictures || !blocks.some((block) => pictureUrl(readBlock(block)) !== undefined)) return content;
    const texts = blocks.map((block) => {
      const part = readBlock(block);
      const text = contentText([block]);
      return part.kind === 'text' ? text : placed(part, text.slice(1, -1));
    });
    return texts.join('\n');
  }
  if (typeof content === 'string' || content.every(({ type }) => type === 'text')) return content;
  const texts = content.map((given) => {
    const part = readPart(given);
    return part.kind === 'text' ? part.text : placed(part, describe(part));
  });
  return texts.join('\n');
}

/** The pictures as parts of a user message, numbered as in the results. */
export function labelled(pictures: readonly ContentPart[]): ContentPart[] {
  return pictures.flatMap((picture, at) => [{ type: 'text', text: `Picture ${at + 1}:` }, picture]);
}

function pictureUrl(part: ReadPart): string | undefined {
  if (part.kind === 'url') return part.image ? part.url : undefined;
  if (part.kind !== 'data') return undefined;
  const sent = toSentPart('openai', part);
  const isPicture = 'data' in sent && sent.mediaType.startsWith('image/');
  return isPicture ? `data:${sent.mediaType};base64,${sent.data}` : undefined;
}

function describe(part: Exclude<ReadPart, { kind: 'text' }>): string {
  switch (part.kind) {
    case 'data':
      return `${part.name ?? 'file'} ${part.mediaType}, ${Math.floor((part.data.length * 3) / 4)} bytes`;
    case 'url':
      return `${part.image ? 'image' : 'file'} ${part.url}`;
    case 'other':
      return `${part.type} content`;
  }
}
