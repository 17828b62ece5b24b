// Splits bytes into lines and parses JSON-RPC. Lines are bounded; invalid messages are reported, never thrown.
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { readMessage } from './read-message.js';

const newline = 0x0a;

export class LineReader {
  private parts: Buffer[] = [];
  private bytes = 0;

  /** `onLine` gets each line without its newline. */
  constructor(
    private readonly maxBytes: number,
    private readonly onLine: (line: Buffer) => void,
  ) {}

  /** False if a line exceeds the limit: nothing more can be read. */
  feed(chunk: Buffer): boolean {
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(newline, from);
      const piece = chunk.subarray(from, end === -1 ? chunk.length : end);
      this.bytes += piece.length;
      if (this.bytes > this.maxBytes) {
        this.parts = [];
        return false;
      }
      this.parts.push(piece);
      if (end === -1) break;
      const line = this.parts.length === 1 ? this.parts[0]! : Buffer.concat(this.parts);
      this.parts = [];
      this.bytes = 0;
      from = end + 1;
      this.onLine(line);
    }
    return true;
  }
}

/**
 * The messages of a line: one, several (a batch), none (an empty line); undefined if it is not JSON-RPC. Invalid UTF-8
 * becomes U+FFFD. Only the envelope is checked.
 */
export function readFrame(line: Buffer): JSONRPCMessage[] | undefined {
  const text = line
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
  if (text === '') return [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const messages = (Array.isArray(value) ? (value as unknown[]) : [value]).map((each) => readMessage(each));
  return messages.every((each) => each !== undefined) ? messages : undefined;
}
