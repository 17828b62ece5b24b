// Converts a server's answer about a resource, a prompt or a completion to an outcome. No shape is trusted. Models do not get these
// answers, so they are not shortened: one that is too large is refused.
import { z } from 'zod';
import { contentBlockSchema, type ContentBlock, parsedJsonObject } from '#libs/schemas/content-block.js';
import type { Json } from '#libs/schemas/json.js';
import type { ServerMethod } from '#libs/schemas/tool-job.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { OnServerBound } from '../mcp/wire/server-bound.js';
import { failed } from './read-result.js';

export interface ServerAnswerBounds {
  maxReadBytes: number;
  onBound?: OnServerBound;
}

const content = z.object({
  uri: z.string(),
  mimeType: z.string().optional(),
  text: z.string().optional(),
  blob: z.base64().optional(),
  _meta: parsedJsonObject.optional(),
});
const contentsSchema = z.object({
  contents: z.array(content.refine(({ text, blob }) => text !== undefined || blob !== undefined)),
});
const messagesSchema = z.object({
  description: z.string().optional(),
  messages: z.array(z.object({ role: z.enum(['user', 'assistant']), content: contentBlockSchema })),
});
/** MCP allows 100 values. */
const completionSchema = z.object({
  completion: z.object({
    values: z.array(z.string()).transform((values) => values.slice(0, 100)),
    total: z.number().optional().catch(undefined),
    hasMore: z.boolean().optional().catch(undefined),
  }),
});

export function readServerAnswer(
  method: ServerMethod,
  result: Record<string, unknown>,
  { maxReadBytes, onBound }: ServerAnswerBounds,
): ToolOutcome {
  const bytes = Buffer.byteLength(JSON.stringify(result));
  if (bytes > maxReadBytes) {
    onBound?.('message_bytes');
    return failed('result_too_large', `The answer of the server has ${bytes} bytes; the limit is ${maxReadBytes}`);
  }
  const read = readers[method](result);
  if (read === undefined) return failed('invalid_tool_result', 'The answer of the server is not valid MCP');
  return { state: 'completed', blocks: [], ...read, durationMs: 0 };
}

type Read = Pick<ToolOutcome, 'structuredContent'> & { blocks?: ContentBlock[] };

const readers: Record<ServerMethod, (result: unknown) => Read | undefined> = {
  'resources/read': (result) => {
    const read = contentsSchema.safeParse(result).data;
    return read && { blocks: read.contents.map((resource) => ({ type: 'resource', resource })) };
  },
  'resources/subscribe': () => ({}),
  'prompts/get': (result) => structured(messagesSchema.safeParse(result).data),
  'completion/complete': (result) => structured(completionSchema.safeParse(result).data),
};

const structured = (read: object | undefined): Read | undefined =>
  read === undefined ? undefined : { structuredContent: JSON.parse(JSON.stringify(read)) as Json };
