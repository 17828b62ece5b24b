// Reads a part of a file as text for a model, up to the size of a result, and says where the rest starts.
import { AppError } from '#libs/schemas/errors.js';
import type { Workspace } from '#libs/workspace/workspace.js';
import { decodePieces } from './decode-text.js';

export interface TextRange {
  path: string;
  encoding: string;
  /** Both in bytes. */
  offset: number;
  limit?: number | undefined;
  maxTextBytes: number;
}

export interface TextPart {
  text: string;
  size: number;
  /** Where the rest begins; undefined if nothing is left. */
  nextOffset?: number;
}

export async function readText(workspace: Workspace, range: TextRange, signal: AbortSignal): Promise<TextPart> {
  const file = await workspace.openFile(range.path);
  try {
    const { size } = file.info;
    const end = range.limit === undefined ? size : Math.min(size, range.offset + range.limit);
    const texts: string[] = [];
    let textBytes = 0;
    const chunks = file.read({ start: range.offset, end }, signal);
    for await (const piece of decodePieces(chunks, range.encoding, range.offset)) {
      if (piece.start === 0 && range.encoding === 'utf8' && piece.text.includes('\0')) throw binary(range.path);
      textBytes += Buffer.byteLength(piece.text);
      if (textBytes > range.maxTextBytes) return { text: texts.join(''), size, nextOffset: piece.start };
      texts.push(piece.text);
    }
    return { text: texts.join(''), size, ...(end < size ? { nextOffset: end } : {}) };
  } finally {
    await file.close();
  }
}

const binary = (path: string) =>
  new AppError('tool_failed', `'${path}' is not UTF-8 text: read it with encoding 'base64', 'utf-16le' or another`);

/** The result of a tool: the text, and a hint if it was cut. */
export function textResult(part: TextPart, tool: string, explicit: boolean) {
  const content = [{ type: 'text' as const, text: part.text }];
  if (part.nextOffset !== undefined && !explicit) {
    const text = `[cut: the file has ${part.size} bytes; call ${tool} with offset ${part.nextOffset} for the rest]`;
    content.push({ type: 'text', text });
  }
  return { content };
}
