// Converts an MCP server's answer to an outcome: known blocks, structured content that matches its schema, an
// error with one of our codes. No shape is trusted.
import { isSpecType } from '@modelcontextprotocol/client';
import { contentBlockSchema, contentText, type ContentBlock } from '#libs/schemas/content-block.js';
import type { ToolErrorCode } from '#libs/schemas/errors.js';
import type { Json } from '#libs/schemas/json.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { readErrorCode } from '#libs/mcp-server/call-meta.js';
import type { RawToolResult } from '../mcp/servers/connection.js';
import type { OnServerBound } from '../mcp/wire/server-bound.js';

const maxMessageLength = 4_000;
/** Each block is checked, which is slow for unknown kinds. */
const maxBlocks = 10_000;

/** Leaves the times to the call. `checkOutput`, for tools with an output schema, returns what is wrong. */
export function readToolResult(
  result: RawToolResult,
  checkOutput: ((value: Json, bytes: number) => string | undefined) | undefined,
  onBound?: OnServerBound,
): ToolOutcome {
  const { content, isError } = result;
  if (!(content == null || Array.isArray(content)) || !(isError == null || typeof isError === 'boolean')) {
    return failed('invalid_tool_result', 'The answer of the tool is not valid MCP');
  }
  if (Array.isArray(content) && content.length > maxBlocks) {
    onBound?.('content_blocks');
    return failed('result_too_large', `The result of the tool has more than ${maxBlocks} content blocks`);
  }
  // The content is parsed JSON, or from a tool in this process that returns the same.
  const structured = (result.structuredContent ?? undefined) as Json | undefined;
  const blocks = withText(readBlocks(content ?? []), structured);
  if (isError === true) {
    const text = contentText(blocks) || 'The tool failed';
    const message = text.length > maxMessageLength ? `${text.slice(0, maxMessageLength)}…` : text;
    const failure = failedOutcome('failed', readErrorCode(result._meta) ?? 'tool_failed', message);
    if (blocks.length > 0) failure.blocks = blocks;
    failure.structuredContent = structured;
    return failure;
  }
  if (checkOutput !== undefined) {
    if (structured === undefined) return failed('invalid_tool_result', 'The tool returned no structured content');
    const problem = checkOutput(structured, JSON.stringify(structured).length);
    if (problem !== undefined) {
      return failed('invalid_tool_result', `The result of the tool does not match its output schema: ${problem}`);
    }
  }
  return { state: 'completed', blocks, structuredContent: structured, durationMs: 0, queueWaitMs: undefined };
}

export function failed(code: ToolErrorCode, message: string): ToolOutcome {
  const state = code === 'cancelled' ? 'cancelled' : code === 'tool_outcome_unknown' ? 'indeterminate' : 'failed';
  return failedOutcome(state, code, message);
}

/** Adds structured content as text, which MCP asks of servers, for models and clients that read only content. */
function withText(blocks: ContentBlock[], structured: Json | undefined): ContentBlock[] {
  if (structured === undefined || blocks.some(isReadable)) return blocks;
  return [{ type: 'text', text: JSON.stringify(structured) }, ...blocks.filter(({ type }) => type !== 'text')];
}

function isReadable(block: ContentBlock): boolean {
  if (block.type === 'text') return block.text.trim() !== '';
  return block.type === 'resource' || block.type === 'resource_link';
}

/** A block of an unknown kind is kept as its JSON text instead of being dropped. */
function readBlocks(content: readonly unknown[]): ContentBlock[] {
  return content.map((block) => {
    const parsed = contentBlockSchema.safeParse(block);
    return parsed.success ? withoutBroken(readable(parsed.data)) : { type: 'text', text: JSON.stringify(block) ?? '' };
  });
}

/** An MCP client rejects a whole result if annotations have an unknown form. */
function readable(block: ContentBlock): ContentBlock {
  const { annotations, ...bare } = block;
  return annotations === undefined || isSpecType.Annotations(annotations) ? block : bare;
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Invalid images and audio would make the next model request fail, and the turn with it. */
function withoutBroken(block: ContentBlock): ContentBlock {
  const broken = (reason: string): ContentBlock => ({
    type: 'text',
    text: `[${block.type} that cannot be read: ${reason}]`,
  });
  if (block.type === 'resource') {
    const { uri, text, blob } = block.resource;
    return base64.test(blob ?? '') && (text ?? blob) !== undefined ? block : broken(uri);
  }
  if (block.type !== 'image' && block.type !== 'audio') return block;
  const isOfItsKind = block.mimeType.startsWith(`${block.type}/`);
  return isOfItsKind && base64.test(block.data) ? block : broken(block.mimeType.slice(0, 100));
}
