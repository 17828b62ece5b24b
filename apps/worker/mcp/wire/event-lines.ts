// Checks a stream of events before it is parsed: the size of each event, and how much of the stream is not a message
// (comments, keep-alives, empty events, events of other types). Splits lines without reading their contents.
import type { FloodGate } from './flood-gate.js';
import { maxValues, ValueCounter } from './value-counter.js';

export type EventBound = 'message_bytes' | 'message_values' | 'noise';

export const newline = 0x0a;
export const carriageReturn = 0x0d;
/** How much of a line is kept to recognise it: `event: message` is the longest that counts. */
const maxHead = 16;
/** Lines besides its data that an event may have for free: its type, its id, its retry time. */
const freeLines = 3;

export class EventLines {
  private head = '';
  private afterReturn = false;
  /** Size of the event so far. */
  private bytes = 0;
  private uncounted = 0;
  private dataLines = 0;
  private otherLines = 0;
  private type = '';
  private readonly values = new ValueCounter();

  /** `noise` is shared by all streams of a connection. */
  constructor(
    private readonly maxBytes: number,
    private readonly noise: FloodGate,
  ) {}

  /** The limit exceeded in this chunk, if any. */
  feed(chunk: Buffer): EventBound | undefined {
    let [nextNewline, nextReturn] = [-1, -1];
    for (let from = 0; from < chunk.length;) {
      if (nextNewline < from) nextNewline = position(chunk, newline, from);
      if (nextReturn < from) nextReturn = position(chunk, carriageReturn, from);
      const end = Math.min(nextNewline, nextReturn);
      const bound = this.take(chunk.subarray(from, end)) ?? (end < chunk.length ? this.endOf(chunk[end]!) : undefined);
      if (bound !== undefined) return bound;
      from = end + 1;
    }
    return undefined;
  }

  private take(piece: Buffer): EventBound | undefined {
    if (piece.length === 0) return undefined;
    this.afterReturn = false;
    if (this.head.length < maxHead) this.head += piece.toString('latin1', 0, maxHead - this.head.length);
    this.bytes += piece.length;
    this.uncounted += piece.length;
    if (this.bytes > this.maxBytes) return 'message_bytes';
    return this.values.feed(piece) ? undefined : 'message_values';
  }

  /** CR LF ends one line, not two. */
  private endOf(terminator: number): EventBound | undefined {
    const sameEnd = terminator === newline && this.afterReturn;
    this.afterReturn = terminator === carriageReturn;
    return sameEnd ? undefined : this.endLine();
  }

  private endLine(): EventBound | undefined {
    const line = this.head;
    this.head = '';
    if (line === '') return this.endEvent();
    this.bytes += 1;
    if (/^data(?::|$)/.test(line)) return (this.dataLines += 1) > maxValues ? 'message_values' : undefined;
    if (line.startsWith('event:')) this.type = line.slice('event:'.length).trim();
    return (this.otherLines += 1) > freeLines ? this.noisy() : undefined;
  }

  private endEvent(): EventBound | undefined {
    const isMessage = this.dataLines > 0 && ['', 'message'].includes(this.type);
    const bound = isMessage ? undefined : this.noisy();
    this.bytes = this.uncounted = this.dataLines = this.otherLines = 0;
    this.type = '';
    this.values.restart();
    return bound;
  }

  private noisy(): EventBound | undefined {
    const bytes = this.uncounted;
    this.uncounted = 0;
    return this.noise.take(bytes) ? undefined : 'noise';
  }
}

/** Of the next such byte, or the end. */
export function position(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at === -1 ? chunk.length : at;
}
