// Limits a result to what a model receives: a larger one is stored whole in the workspace, and the model gets head,
// tail, the path and how to read on.
import type { ContentBlock } from '#libs/schemas/content-block.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { OnServerBound } from '../mcp/wire/server-bound.js';
import { failed } from './read-result.js';

export interface ResultBounds {
  /** The largest result that is passed to the model whole. */
  maxResultBytes: number;
  /** The largest result accepted from a server. */
  maxReadBytes: number;
  onBound?: OnServerBound;
}

/** Stores a whole result; resolves with the path as the session's tools know it. */
export type KeepWhole = (text: string) => Promise<string>;

/** Returns no promise if nothing has to be stored. */
export function clampResult(
  outcome: ToolOutcome,
  bounds: ResultBounds,
  keep: KeepWhole,
): ToolOutcome | Promise<ToolOutcome> {
  const bytes = bytesOf(outcome);
  if (bytes <= bounds.maxResultBytes) return outcome;
  if (bytes > bounds.maxReadBytes) {
    bounds.onBound?.('message_bytes');
    return failed('result_too_large', `The result of the tool has ${bytes} bytes; the limit is ${bounds.maxReadBytes}`);
  }
  return shortened(outcome, bytes, bounds, keep);
}

async function shortened(
  outcome: ToolOutcome,
  bytes: number,
  bounds: ResultBounds,
  keep: KeepWhole,
): Promise<ToolOutcome> {
  const whole = wholeText(outcome);
  const path = await keep(whole).catch((error: unknown) => (error instanceof Error ? error : new Error('not stored')));
  const where =
    typeof path === 'string'
      ? `the full result is in ${path}: read it in parts with read_result (path, offset, limit, grep)`
      : 'the full result could not be stored in the workspace';
  const note = `\n… [${bytes} bytes, shortened; ${where}] …\n`;
  const half = Math.floor((bounds.maxResultBytes - Buffer.byteLength(note)) / 2);
  outcome.structuredContent = undefined;
  outcome.blocks = [{ type: 'text', text: headAndTail(whole, half, note) }];
  outcome.truncated = true;
  return outcome;
}

/** Structured content that is repeated as text counts once. */
function bytesOf({ blocks, structuredContent }: ToolOutcome): number {
  const structured = structuredContent === undefined ? '' : JSON.stringify(structuredContent);
  const isSameText = (block: ContentBlock) => block.type === 'text' && block.text === structured;
  const sizes = blocks.map((block) => (isSameText(block) ? 0 : Buffer.byteLength(JSON.stringify(block))));
  return sizes.reduce((sum, size) => sum + size, Buffer.byteLength(structured));
}

function wholeText({ blocks }: ToolOutcome): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : JSON.stringify(block))).join('\n');
}

/** Cuts between characters, never inside one. */
function headAndTail(text: string, halfBytes: number, note: string): string {
  const bytes = Buffer.from(text);
  let headEnd = Math.max(0, Math.min(halfBytes, bytes.length));
  while (headEnd > 0 && isContinuation(bytes[headEnd])) headEnd -= 1;
  let tailStart = Math.max(headEnd, bytes.length - Math.max(0, halfBytes));
  while (tailStart < bytes.length && isContinuation(bytes[tailStart])) tailStart += 1;
  return bytes.toString('utf8', 0, headEnd) + note + bytes.toString('utf8', tailStart);
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
