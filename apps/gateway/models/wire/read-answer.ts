// An open answer of an upstream as model events: SSE or one JSON, whichever its content type says. It leaves closing the
// answer to whoever opened it.
import type { Flow } from '#libs/concurrency/flow.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { FrameMemory, parse } from './frame-memory.js';
import type { TakeModelEvents } from '../model-provider.js';
import { createSseReader, type SseReader } from './sse-reader.js';
import type { HttpAnswer } from '#libs/http-client/outgoing.js';
import type { AnswerReader } from './wire-family.js';

/** After the finish reason only usage and `[DONE]` may come: an upstream that keeps the connection open sends neither. */
const afterFinishMs = 1_000;

export interface AnswerBounds {
  provider: string;
  /** One SSE event, characters. */
  maxEventChars: number;
}

/**
 * Tells `take` the events, those of one read of the network in one batch. The last batch ends with `message_end` or
 * `error`, unless the reader wants to go on with another answer or `take` has enough.
 */
export async function readAnswer(
  answer: Pick<HttpAnswer, 'headers' | 'read' | 'hurry'>,
  reader: AnswerReader,
  bounds: AnswerBounds,
  take: TakeModelEvents,
): Promise<void> {
  const body = new AnswerBody(answer, reader, bounds, take);
  const out: ModelEvent[] = [];
  try {
    await answer.read((bytes) => body.take(bytes));
    if (body.over) return;
    body.end(out);
  } catch (error) {
    // The finish reason was there: the message is whole, whatever became of the connection after it.
    if (reader.settled && error instanceof AppError && error.code !== 'cancelled') reader.end(false, out);
    else reader.fail(toAppError(error), out);
  }
  if (out.length > 0) await take(out);
}

class AnswerBody {
  /** Everything has been told, or the reader has enough. */
  over = false;
  private sse: SseReader | undefined;
  private readonly frames = new FrameMemory();
  /** Of a body that is one JSON. */
  private pieces: Uint8Array[] = [];
  private started = false;

  constructor(
    private readonly answer: Pick<HttpAnswer, 'headers' | 'hurry'>,
    private readonly reader: AnswerReader,
    private readonly bounds: AnswerBounds,
    private readonly tell: TakeModelEvents,
  ) {}

  take(bytes: Uint8Array): Flow {
    if (!this.started) this.start(bytes);
    if (this.sse === undefined) {
      this.pieces.push(bytes);
      return undefined;
    }
    const out: ModelEvent[] = [];
    this.over = this.readEvents(this.sse.feed(bytes), out);
    // What still says something is waited for anew; keep-alive comments say nothing.
    if (out.length > 0 && !this.over && this.reader.settled) this.answer.hurry(afterFinishMs);
    const flow = out.length > 0 ? this.tell(out) : undefined;
    if (flow === 'enough') this.over = true;
    if (flow instanceof Promise) return flow.then((said) => this.after(said));
    return this.over ? 'enough' : undefined;
  }

  /** The end of a body that is complete. */
  end(out: ModelEvent[]): void {
    if (!this.started) this.start(new Uint8Array());
    const { reader, sse } = this;
    if (sse === undefined) return this.readWhole(out);
    if (!this.readEvents(lastFrames(sse.finish()), out)) reader.end(false, out);
  }

  private after(said: 'enough' | undefined): 'enough' | undefined {
    if (said === 'enough') this.over = true;
    return this.over ? 'enough' : undefined;
  }

  private start(first: Uint8Array): void {
    this.started = true;
    if (kindOf(this.answer.headers['content-type'], first) === 'sse')
      this.sse = createSseReader(this.bounds.maxEventChars);
  }

  /** True when the answer is over. */
  private readEvents(events: string[], out: ModelEvent[]): boolean {
    const { reader } = this;
    for (const event of events) {
      const data = event.trim();
      if (data === '') continue;
      if (data === '[DONE]') {
        reader.end(true, out);
        return true;
      }
      const chunk = this.frames.parse(data);
      if (isJsonObject(chunk)) reader.read(chunk, out);
      else reader.fail(this.badResponse('sent a chunk that is not a JSON object'), out);
      if (reader.over) return true;
    }
    return false;
  }

  private readWhole(out: ModelEvent[]): void {
    const { reader } = this;
    const all = Buffer.concat(this.pieces).toString();
    const text = all.startsWith('\ufeff') ? all.slice(1) : all;
    const body = parse(text);
    // Gemini without `alt=sse` streams one list.
    const chunks = Array.isArray(body) ? body : [body];
    if (chunks.length === 0 || !chunks.every(isJsonObject)) {
      return reader.fail(this.badResponse(`sent ${describe(text)} instead of JSON`), out);
    }
    for (const chunk of chunks) if (!reader.over) reader.read(chunk, out);
    if (!reader.over) reader.end(!Array.isArray(body), out);
  }

  private badResponse(what: string): AppError {
    return new AppError('model_bad_response', `Model provider '${this.bounds.provider}' ${what}`);
  }
}

/** A last frame without its blank line counts when it is whole; half a frame is a cut, not bad JSON. */
const lastFrames = (events: string[]) => events.filter((data) => data.trim() === '[DONE]' || isJsonObject(parse(data)));

/** By content type; where that says neither, by how the body begins. */
function kindOf(contentType: string | string[] | undefined, first: Uint8Array): 'sse' | 'json' {
  const type = String(contentType ?? '').toLowerCase();
  if (type.includes('event-stream')) return 'sse';
  if (type.includes('json')) return 'json';
  const start = Buffer.from(first)
    .toString('latin1', 0, 32)
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  // A read may end within the first word.
  const isSse = start !== '' && sseStarts.some((word) => start.startsWith(word) || word.startsWith(start));
  return isSse ? 'sse' : 'json';
}

const sseStarts = ['data:', 'event:', 'id:', 'retry:', ':'];

function describe(text: string): string {
  if (text.trim() === '') return 'an empty answer';
  return /^\s*</.test(text) ? 'a web page' : 'something else';
}
