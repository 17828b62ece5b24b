// Bytes of an SSE body in, the `data` of each complete event out, in batches of one read. Bounded; it neither parses
// the data nor knows what `[DONE]` means.
import { createParser } from 'eventsource-parser';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';

export interface SseReader {
  /** @throws AppError model_bad_response when one event is larger than the bound */
  feed(bytes: Uint8Array): string[];
  /** What a body that ends without its last blank line still holds. */
  finish(): string[];
}

export function createSseReader(maxEventChars: number): SseReader {
  const decoder = new TextDecoder();
  let events: string[] = [];
  let overflow = false;
  const parser = createParser({
    maxBufferSize: maxEventChars,
    onEvent: ({ event, data }) => events.push(event === 'error' ? asError(data) : data),
    onError: (error) => (overflow ||= error.type === 'max-buffer-size-exceeded'),
  });
  const push = (text: string): string[] => {
    events = [];
    parser.feed(text);
    if (overflow) throw new AppError('model_bad_response', 'An event of the model answer is larger than allowed');
    return events;
  };
  return {
    feed: (bytes) => push(decoder.decode(bytes, { stream: true })),
    finish: () => push(`${decoder.decode()}\n\n`),
  };
}

/** An event that is called an error is one, whatever its data looks like. */
function asError(data: string): string {
  try {
    const said = JSON.parse(data) as Json;
    if (isJsonObject(said)) return isError(said) ? data : JSON.stringify({ error: said });
  } catch {
    // Plain words.
  }
  return JSON.stringify({ error: { message: data } });
}

const isError = ({ error, type }: JsonObject) => (error !== undefined && error !== null) || type === 'error';
