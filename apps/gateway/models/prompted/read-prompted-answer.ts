// Translates the answer of a model that writes calls as text to the events of native tool use. Only the text of the first
// choice is parsed; everything else passes unchanged.
import type { Flow } from '#libs/concurrency/flow.js';
import { WorkSlices } from '#libs/concurrency/work-slices.js';
import { toAppError } from '#libs/schemas/errors.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import type { FinishReason, ModelEvent } from '#libs/schemas/model-event.js';
import type { TakeModelEvents } from '../model-provider.js';
import { BareCallGate } from './bare-call-gate.js';
import { CallParser } from './call-parser.js';
import type { ReadCall } from './read-calls.js';

/** Long texts are parsed in pieces of this size, so that other requests can run between them. */
const pieceChars = 16 * 1024;

export class PromptedAnswer {
  private readonly turns = new WorkSlices();
  private reader: PromptedAnswerReader;

  /** If `offered` is empty, calls are dropped together with their text. */
  constructor(
    private readonly offered: ReadonlySet<string>,
    private readonly emit: TakeModelEvents,
  ) {
    this.reader = new PromptedAnswerReader(offered);
  }

  readonly take = (batch: readonly ModelEvent[]): Flow => {
    if (batch.some(isLong)) return this.takeInPieces(batch);
    const read: ModelEvent[] = [];
    for (const event of batch) this.read(event, read);
    return this.pass(read);
  };

  private async takeInPieces(batch: readonly ModelEvent[]): Promise<'enough' | undefined> {
    const read: ModelEvent[] = [];
    for (const event of batch) {
      for (const piece of inPieces(event)) {
        await this.turns.next();
        this.read(piece, read);
      }
    }
    return this.pass(read);
  }

  private read(event: ModelEvent, read: ModelEvent[]): void {
    if (event.type === 'message_start') this.reader = new PromptedAnswerReader(this.offered);
    read.push(...this.reader.read(event));
  }

  private pass(read: ModelEvent[]): Flow {
    const failed = read.findIndex((event) => event.type === 'error');
    if (failed === -1) return read.length > 0 ? this.emit(read) : undefined;
    const flow = this.emit(read.slice(0, failed + 1));
    return flow instanceof Promise ? flow.then(() => 'enough' as const) : 'enough';
  }
}

const isLong = (event: ModelEvent): boolean =>
  event.type === 'text_delta' && event.text.length > pieceChars && event.extras === undefined;

/** No piece splits a surrogate pair. */
function inPieces(event: ModelEvent): ModelEvent[] {
  if (event.type !== 'text_delta' || !isLong(event)) return [event];
  const pieces: ModelEvent[] = [];
  for (let from = 0, to; from < event.text.length; from = to) {
    to = from + pieceChars;
    if (/[\ud800-\udbff]/.test(event.text.charAt(to - 1))) to += 1;
    pieces.push({ ...event, text: event.text.slice(from, to) });
  }
  return pieces;
}

type TextDelta = Extract<ModelEvent, { type: 'text_delta' }>;
type MessageEnd = Extract<ModelEvent, { type: 'message_end' }>;

/** Reads one answer, event by event. */
export class PromptedAnswerReader {
  private out: ModelEvent[] = [];
  private calls = 0;
  /** New indexes of native calls, which some upstreams make without being offered tools. */
  private readonly native = new Map<number, number>();
  private readonly parser: Pick<BareCallGate, 'feed' | 'finish' | 'examined' | 'heldChars'>;

  constructor(private readonly offered: ReadonlySet<string>) {
    const sink = { text: (text: string) => this.say(text), call: (call: ReadCall) => this.call(call) };
    const parser = new CallParser(sink);
    this.parser = offered.size === 0 ? parser : new BareCallGate(offered, parser, sink);
  }

  get examined(): number {
    return this.parser.examined;
  }

  get heldChars(): number {
    return this.parser.heldChars;
  }

  read(event: ModelEvent): ModelEvent[] {
    this.out = [];
    switch (event.type) {
      case 'text_delta':
        if (event.choice === undefined) this.readText(event);
        else this.out.push(event);
        break;
      case 'message_end':
        if (event.choice === undefined) this.end(event);
        else this.out.push(event);
        break;
      case 'tool_call_start':
        this.native.set(event.index, this.calls++);
        this.out.push(this.renumbered(event));
        break;
      case 'tool_call_delta':
      case 'tool_call_end':
        this.out.push(this.renumbered(event));
        break;
      case 'message_start':
      case 'reasoning_delta':
      case 'usage':
      case 'error':
        this.out.push(event);
    }
    return this.out;
  }

  private readText(event: TextDelta): void {
    if (!this.guarded(() => this.parser.feed(event.text)) || event.extras === undefined) return;
    const [only] = this.out;
    const whole = this.out.length === 1 && only?.type === 'text_delta' && only.text === event.text;
    // Extras (log probabilities) would reveal the characters that are held back.
    if (whole || event.text === '') this.out = [event];
  }

  private end(event: MessageEnd): void {
    const cut = event.finishReason === 'length' || event.finishReason === 'content_filter';
    if (!this.guarded(() => this.parser.finish(cut))) return;
    const { logprobs: _, ...choice } = event.extras?.choice ?? {};
    this.out.push({
      ...event,
      ...(this.calls > 0 && event.extras !== undefined && { extras: { ...event.extras, choice } }),
      finishReason: this.calls > 0 && event.finishReason === 'stop' ? 'tool_calls' : event.finishReason,
    } satisfies { finishReason: FinishReason } & ModelEvent);
  }

  private guarded(body: () => void): boolean {
    try {
      body();
      return true;
    } catch (error) {
      this.out.push({ type: 'error', error: toAppError(error) });
      return false;
    }
  }

  private say(text: string): void {
    const last = this.out.at(-1);
    if (last?.type === 'text_delta') last.text += text;
    else this.out.push({ type: 'text_delta', text });
  }

  private call({ name, arguments: text, parseError }: ReadCall): void {
    if (this.offered.size === 0) return;
    const index = this.calls++;
    const id = mintCallId(false);
    this.out.push(
      { type: 'tool_call_start', index, id, name },
      { type: 'tool_call_delta', index, arguments: text },
      { type: 'tool_call_end', index, id, name, arguments: text, ...(parseError !== undefined && { parseError }) },
    );
  }

  private renumbered<Event extends { index: number }>(event: Event): Event {
    return { ...event, index: this.native.get(event.index) ?? event.index };
  }
}
