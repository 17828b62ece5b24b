// Reads an open upstream answer as model events: SSE or a single JSON text, according to its content type. Does not close
// the answer.
import type { Flow } from '#libs/concurrency/flow.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { isJsonObject, parseJson } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { FrameMemory } from './frame-memory.js';
import type { TakeModelEvents } from '../model-provider.js';
import { createSseReader, type SseReader } from './sse-reader.js';
import type { HttpAnswer } from '#libs/http-client/outgoing.js';
import type { AnswerReader } from './wire-family.js';

/** Only usage and `[DONE]` can follow a finish reason, but some upstreams stay connected and send neither. */
const afterFinishMs = 1_000;

const utf8 = new TextDecoder();

export interface AnswerBounds {
  provider: string;
  /** Maximum characters of one SSE event. */
  maxEventChars: number;
}

/**
 * Passes events to `take`, one batch per network read. The last batch ends with `message_end` or `error`, unless the reader
 * continues with another answer or `take` has enough.
 */
export function readAnswer(
  answer: Pick<HttpAnswer, 'headers' | 'read' | 'hurry'>,
  reader: AnswerReader,
  bounds: AnswerBounds,
  take: TakeModelEvents,
): Promise<Flow> {
  const body = new AnswerBody(answer, reader, bounds, take);
  return answer
    .read((bytes) => body.take(bytes))
    .then(
      () => body.end(),
      (error: unknown) => body.fail(error),
    );
}

class AnswerBody {
  /** All events have been passed on, or the reader has enough. */
  over = false;
  private sse: SseReader | undefined;
  private frames: FrameMemory | undefined;
  /** Pieces of a body that is a single JSON text. */
  private pieces: Uint8Array[] = [];
  private started = false;

  constructor(
    private readonly answer: Pick<HttpAnswer, 'headers' | 'hurry'>,
    private readonly reader: AnswerReader,
    private readonly bounds: AnswerBounds,
    private readonly emit: TakeModelEvents,
  ) {}

  take(bytes: Uint8Array): Flow {
    if (!this.started) this.start(bytes);
    if (this.sse === undefined) {
      this.pieces.push(bytes);
      return undefined;
    }
    const out: ModelEvent[] = [];
    this.over = this.readEvents(this.sse.feed(bytes), out);
    // Only real events restart this wait; keep-alive comments do not.
    if (out.length > 0 && !this.over && this.reader.settled) this.answer.hurry(afterFinishMs);
    const flow = out.length > 0 ? this.emit(out) : undefined;
    if (flow === 'enough') this.over = true;
    if (flow instanceof Promise) return flow.then((said) => this.after(said));
    return this.over ? 'enough' : undefined;
  }

  /** The body is complete, or the reader has enough. */
  end(): Flow {
    if (this.over) return undefined;
    if (!this.started) this.start(new Uint8Array());
    const { reader, sse } = this;
    const out: ModelEvent[] = [];
    try {
      if (sse === undefined) this.readWhole(out);
      else if (!this.readEvents(lastFrames(sse.finish()), out)) reader.end(false, out);
    } catch (error) {
      return this.fail(error, out);
    }
    return this.emitRead(out);
  }

  fail(error: unknown, out: ModelEvent[] = []): Flow {
    const { reader } = this;
    // The finish reason had arrived, so the message is complete whatever happened to the connection afterwards.
    if (reader.settled && error instanceof AppError && error.code !== 'cancelled') reader.end(false, out);
    else reader.fail(toAppError(error), out);
    return this.emitRead(out);
  }

  private emitRead(out: readonly ModelEvent[]): Flow {
    return out.length > 0 ? this.emit(out) : undefined;
  }

  private after(said: 'enough' | undefined): 'enough' | undefined {
    if (said === 'enough') this.over = true;
    return this.over ? 'enough' : undefined;
  }

  private start(first: Uint8Array): void {
    this.started = true;
    if (kindOf(this.answer.headers['content-type'], first) === 'json') return;
    this.sse = createSseReader(this.bounds.maxEventChars);
    this.frames = new FrameMemory();
  }

  /** Returns true when the answer is over. */
  private readEvents(events: string[], out: ModelEvent[]): boolean {
    const { reader } = this;
    for (const event of events) {
      const data = event.trim();
      if (data === '') continue;
      if (data === '[DONE]') {
        reader.end(true, out);
        return true;
      }
      const chunk = this.frames!.parse(data);
      if (isJsonObject(chunk)) reader.read(chunk, out);
      else reader.fail(this.badResponse('sent a chunk that is not a JSON object'), out);
      if (reader.over) return true;
    }
    return false;
  }

  private readWhole(out: ModelEvent[]): void {
    const { reader, pieces } = this;
    const text = utf8.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
    const body = parseJson(text);
    // Gemini without `alt=sse` streams a JSON list.
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

/** A last frame without its blank line counts if it is complete; half a frame is a cut, not bad JSON. */
const lastFrames = (events: string[]) =>
  events.filter((data) => data.trim() === '[DONE]' || isJsonObject(parseJson(data)));

/** Determined by the content type, else by how the body begins. */
function kindOf(contentType: string | string[] | undefined, first: Uint8Array): 'sse' | 'json' {
  const type = String(contentType ?? '').toLowerCase();
  if (type.includes('event-stream')) return 'sse';
  if (type.includes('json')) return 'json';
  const start = Buffer.from(first)
    .toString('latin1', 0, 32)
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  // A read may end within the first characters.
  const isSse = start !== '' && sseStarts.some((word) => start.startsWith(word) || word.startsWith(start));
  return isSse ? 'sse' : 'json';
}

const sseStarts = ['data:', 'event:', 'id:', 'retry:', ':'];

function describe(text: string): string {
  if (text.trim() === '') return 'an empty answer';
  return /^\s*</.test(text) ? 'a web page' : 'something else';
}
