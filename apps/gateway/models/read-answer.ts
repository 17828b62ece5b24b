// An open answer of an upstream as model events: SSE or one JSON, whichever its content type says.
// Reads on demand, so a slow reader slows the upstream. It leaves closing the answer to whoever opened it.
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { isJsonObject, type Json } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { createSseReader } from './sse-reader.js';
import type { UpstreamAnswer } from './transport.js';
import type { AnswerReader } from './wire-family.js';

/** After the finish reason only usage and `[DONE]` may come: an upstream that keeps the connection open sends neither. */
const afterFinishMs = 1_000;

export interface AnswerBounds {
  provider: string;
  /** One SSE event, characters. */
  maxEventChars: number;
}

/** The last batch ends with `message_end` or `error`, unless the reader wants to go on with another answer. */
export async function* readAnswer(
  answer: Pick<UpstreamAnswer, 'headers' | 'read'>,
  reader: AnswerReader,
  bounds: AnswerBounds,
): AsyncGenerator<ModelEvent[]> {
  const { provider } = bounds;
  const out: ModelEvent[] = [];
  try {
    const first = await answer.read();
    if (kindOf(answer.headers['content-type'], first) === 'json') {
      await readWhole(answer, first, { reader, provider, out });
      yield out;
      return;
    }
    const sse = createSseReader(bounds.maxEventChars);
    let finishedAt: number | undefined;
    for (let bytes = first; bytes !== undefined;) {
      const batch: ModelEvent[] = [];
      const over = readEvents(sse.feed(bytes), { reader, provider, out: batch });
      // What still says something is waited for anew; keep-alive comments say nothing.
      if (batch.length > 0) {
        finishedAt = undefined;
        yield batch;
      }
      if (over) return;
      if (reader.settled) finishedAt ??= performance.now();
      const left = finishedAt === undefined ? undefined : finishedAt + afterFinishMs - performance.now();
      bytes = await answer.read(left === undefined ? undefined : Math.max(0, left));
    }
    if (!readEvents(lastFrames(sse.finish()), { reader, provider, out })) reader.end(false, out);
  } catch (error) {
    // The finish reason was there: the message is whole, whatever became of the connection after it.
    if (reader.settled && error instanceof AppError && error.code !== 'cancelled') reader.end(false, out);
    else reader.fail(toAppError(error), out);
  }
  yield out;
}

interface Target {
  reader: AnswerReader;
  provider: string;
  out: ModelEvent[];
}

/** True when the answer is over. */
function readEvents(events: string[], { reader, provider, out }: Target): boolean {
  for (const data of events) {
    const text = data.trim();
    if (text === '') continue;
    if (text === '[DONE]') {
      reader.end(true, out);
      return true;
    }
    const chunk = parse(text);
    if (isJsonObject(chunk)) reader.read(chunk, out);
    else reader.fail(badResponse(provider, 'sent a chunk that is not a JSON object'), out);
    if (reader.over) return true;
  }
  return false;
}

async function readWhole(
  answer: Pick<UpstreamAnswer, 'read'>,
  first: Uint8Array | undefined,
  { reader, provider, out }: Target,
): Promise<void> {
  const pieces: Uint8Array[] = [];
  for (let bytes = first; bytes !== undefined; bytes = await answer.read()) pieces.push(bytes);
  const all = Buffer.concat(pieces).toString();
  const text = all.startsWith('\ufeff') ? all.slice(1) : all;
  const body = parse(text);
  // Gemini without `alt=sse` streams one list.
  const chunks = Array.isArray(body) ? body : [body];
  if (chunks.length === 0 || !chunks.every(isJsonObject)) {
    return reader.fail(badResponse(provider, `sent ${describe(text)} instead of JSON`), out);
  }
  for (const chunk of chunks) if (!reader.over) reader.read(chunk, out);
  if (!reader.over) reader.end(!Array.isArray(body), out);
}

/** A last frame without its blank line counts when it is whole; half a frame is a cut, not bad JSON. */
const lastFrames = (events: string[]) => events.filter((data) => data.trim() === '[DONE]' || isJsonObject(parse(data)));

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** By content type; where that says neither, by how the body begins. */
function kindOf(contentType: string | string[] | undefined, first: Uint8Array | undefined): 'sse' | 'json' {
  const type = String(contentType ?? '').toLowerCase();
  if (type.includes('event-stream')) return 'sse';
  if (type.includes('json')) return 'json';
  const start = Buffer.from(first ?? [])
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

const badResponse = (provider: string, what: string) =>
  new AppError('model_bad_response', `Model provider '${provider}' ${what}`);
