// Tool results are MCP content blocks from the server to the renderer; they become text only at the edge.
import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from './json.js';

/** An object from JSON.parse, whose members need no validation because they can only be JSON. */
export const parsedJsonObject = z.custom<JsonObject>(isJsonObject, 'Invalid input: expected object');
export const parsedJson = z.custom<Json>((value) => value !== undefined, 'Invalid input: expected a value');

const annotations = parsedJsonObject.optional();

export const contentBlockSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string(), annotations }),
  z.object({ type: z.literal('image'), data: z.string(), mimeType: z.string(), annotations }),
  z.object({ type: z.literal('audio'), data: z.string(), mimeType: z.string(), annotations }),
  z.object({
    type: z.literal('resource_link'),
    uri: z.string(),
    name: z.string(),
    description: z.string().optional(),
    mimeType: z.string().optional(),
    annotations,
  }),
  z.object({
    type: z.literal('resource'),
    resource: z.object({
      uri: z.string(),
      mimeType: z.string().optional(),
      text: z.string().optional(),
      blob: z.string().optional(),
      _meta: parsedJsonObject.optional(),
    }),
    annotations,
  }),
]);

export type ContentBlock = z.infer<typeof contentBlockSchema>;

/** The type of a link to a picture in a caller's result. */
export const anyImage = 'image/*';

/** The blocks as text, for readers of text only (a model's `tool` message, `content` of the tools API). */
export function contentText(blocks: readonly ContentBlock[]): string {
  return blocks.map(blockText).join('\n');
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type} ${block.mimeType}, ${Math.floor((block.data.length * 3) / 4)} bytes]`;
    case 'resource_link':
      return `[resource ${block.name}: ${block.uri}]`;
    case 'resource':
      return block.resource.text ?? `[resource ${block.resource.uri}]`;
  }
}
