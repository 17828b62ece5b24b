// Reads a stream of events before the SDK does. Bounds each event, and how much of the stream is no message (comments,
// keep-alives, empty events, events of other types). Passes an event on when it is complete, with data that can be read.
import type { FloodGate } from './flood-gate.js';
import { LineReader } from './line-reader.js';
import { maxValues, ValueCounter } from './value-counter.js';

export type EventBound = 'message_bytes' | 'message_values' | 'noise';

export interface EventOptions {
  /** Maximum size of an event. */
  maxBytes: number;
  /** Shared by all streams of a connection. */
  noise: FloodGate;
  /** Returns rewritten data of a message; undefined keeps the data. */
  rewrite: (data: Buffer) => string | undefined;
  toError: (bound: EventBound) => Error;
}

/** An event may have this many lines besides data before they count as noise: type, id, retry time. */
const freeLines = 3;
/** `event: message` is the longest beginning that is recognised. */
const headBytes = 16;
const end = Buffer.from('\n');
const dataField = Buffer.from('data: ');

export class EventReader {
  private readonly lines: LineReader;
  private data: Buffer[] = [];
  private others: Buffer[] = [];
  private type = '';
  /** Size of the event so far, and the part that is not counted as noise. */
  private bytes = 0;
  private uncounted = 0;
  private read: Buffer[] = [];

  constructor(private readonly options: EventOptions) {
    this.lines = new LineReader({ maxBytes: options.maxBytes, endsAtReturn: true }, (line) => this.take(line));
  }

  /** Returns the events that the chunk completes. @throws what `toError` returns */
  feed(chunk: Buffer): Buffer {
    this.read = [];
    if (!this.lines.feed(chunk)) throw this.options.toError('message_bytes');
    return Buffer.concat(this.read);
  }

  private take(line: Buffer): void {
    if (line.length === 0) return this.endEvent();
    this.bytes += line.length + 1;
    this.uncounted += line.length;
    if (this.bytes > this.options.maxBytes) throw this.options.toError('message_bytes');
    const head = line.toString('latin1', 0, headBytes);
    if (/^data(?::|$)/.test(head)) {
      this.data.push(line.subarray(head.startsWith('data: ') ? 6 : 5));
      if (this.data.length > maxValues) throw this.options.toError('message_values');
      return;
    }
    if (head.startsWith('event:')) this.type = head.slice('event:'.length).trim();
    this.others.push(line);
    if (this.others.length > freeLines) this.countNoise();
  }

  private endEvent(): void {
    const { data, others, type } = this;
    const isMessage = data.length > 0 && (type === '' || type === 'message');
    if (isMessage) this.check(data);
    else this.countNoise();
    const rewritten = isMessage ? this.options.rewrite(joined(data)) : undefined;
    for (const line of others) this.read.push(line, end);
    for (const line of rewritten === undefined ? data : [Buffer.from(rewritten)]) this.read.push(dataField, line, end);
    if (data.length + others.length > 0) this.read.push(end);
    this.bytes = this.uncounted = 0;
    this.data = [];
    this.others = [];
    this.type = '';
  }

  private check(data: readonly Buffer[]): void {
    const values = new ValueCounter();
    if (!data.every((line) => values.feed(line))) throw this.options.toError('message_values');
  }

  private countNoise(): void {
    const isAffordable = this.options.noise.take(this.uncounted);
    this.uncounted = 0;
    if (!isAffordable) throw this.options.toError('noise');
  }
}

const joined = (lines: readonly Buffer[]): Buffer =>
  lines.length === 1 ? lines[0]! : Buffer.concat(lines.flatMap((line, at) => (at === 0 ? [line] : [end, line])));
