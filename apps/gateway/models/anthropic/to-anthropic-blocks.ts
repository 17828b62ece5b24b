// Translates content parts and tool results to Anthropic's blocks. Leaves out blank text, which the API refuses, and describes
// media that it does not take as text.
import type { JsonObject } from '#libs/schemas/json.js';
import { type MessageContent, type ToolMessage, originalOf } from '#libs/schemas/message.js';
import { notTaken, plainMediaType, toSentPart } from '../conversation/media-types.js';
import { readContent, readToolMessage, type ReadPart } from '../conversation/read-content-part.js';
import type { Warnings } from '../conversation/warnings.js';

export interface BlockRules {
  model: string;
  warnings: Warnings;
}

export function toBlocks(content: MessageContent | null, rules: BlockRules): JsonObject[] {
  return readContent(content).flatMap((part, at) => ownBlocks(content, at) ?? blocksOf(part, rules));
}

/** The caller's blocks in this API's own form. */
function ownBlocks(parts: readonly object[] | string | null | undefined, at: number): JsonObject[] | undefined {
  const own = typeof parts === 'object' ? originalOf(parts?.[at] ?? {}) : undefined;
  return own === undefined ? undefined : [own].flat();
}

export function toResultBlock(message: ToolMessage, id: string, rules: BlockRules): JsonObject {
  const content = readToolMessage(message).flatMap(
    (part, at) => ownBlocks(message.blocks, at) ?? blocksOf(part, rules),
  );
  // The API refuses an error without content.
  if (content.length === 0 && message.is_error === true)
    content.push(...textBlocks('The tool failed without a message.'));
  const onlyText = content.length === 1 && content[0]?.['type'] === 'text';
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(content.length > 0 && { content: onlyText ? content[0]!['text']! : content }),
    ...(message.is_error === true && { is_error: true }),
  };
}

export const textBlocks = (text: string): JsonObject[] => (text.trim() === '' ? [] : [{ type: 'text', text }]);

function blocksOf(part: ReadPart, { model, warnings }: BlockRules): JsonObject[] {
  switch (part.kind) {
    case 'text':
      return textBlocks(part.text);
    case 'url':
      return [{ type: part.image ? 'image' : 'document', source: { type: 'url', url: part.url } }];
    case 'data': {
      const sent = toSentPart('anthropic', part);
      if ('text' in sent && sent.described) {
        warnings.add(notTaken(model, plainMediaType(part.mediaType)), 'messages');
        return textBlocks(sent.text);
      }
      const title: JsonObject = part.name === undefined ? {} : { title: part.name };
      if ('text' in sent) {
        return [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: sent.text }, ...title }];
      }
      const source = { type: 'base64', media_type: sent.mediaType, data: sent.data };
      return [sent.mediaType.startsWith('image/') ? { type: 'image', source } : { type: 'document', source, ...title }];
    }
    case 'other':
      warnings.add(notTaken(model, `${part.type} content`), 'messages');
      return textBlocks(`[${part.type}]`);
  }
}
