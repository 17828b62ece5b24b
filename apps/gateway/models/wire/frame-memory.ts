// Nearly all frames of a stream differ in a single text. Such a frame is recognized by what surrounds the text, so that
// only the text is extracted instead of parsing the frame; any other difference is parsed.
import { isJsonObject, type Json, type JsonObject, parseJson } from '#libs/schemas/json.js';

/** After this many frames in a row without a match, the stream counts as one without repeating frames. */
const mostMisses = 8;
const escaped = /["\\\u0000-\u001f]/;
const probe = 'probe';

interface Place {
  holder: JsonObject;
  key: 'content' | 'text';
  text: string;
}

export class FrameMemory {
  private before = '';
  private after = '';
  /** The frame object that is reused with each text. */
  private frame: JsonObject | undefined;
  private place: Place | undefined;
  private misses = 0;

  /** The frame's JSON; undefined if it is invalid. The same object may be returned again with the next text. */
  parse(data: string): Json | undefined {
    const { before, after, place } = this;
    if (place !== undefined && data.length >= before.length + after.length) {
      const end = data.length - after.length;
      // V8 compares whole texts faster than it looks for the start and the end of one.
      if (data.slice(0, before.length) === before && data.slice(end) === after) {
        const text = data.slice(before.length, end);
        if (!escaped.test(text)) {
          this.misses = 0;
          place.holder[place.key] = text;
          return this.frame;
        }
      }
    }
    const frame = parseJson(data);
    if (this.misses < mostMisses && isJsonObject(frame)) this.learn(data, frame);
    return frame;
  }

  private learn(data: string, frame: JsonObject): void {
    const place = placeOf(frame);
    if (place === undefined) return;
    this.misses += 1;
    const quoted = JSON.stringify(place.text);
    const at = data.indexOf(quoted);
    if (at === -1 || data.lastIndexOf(quoted) !== at) return;
    const before = data.slice(0, at + 1);
    const after = data.slice(at + quoted.length - 1);
    // Checks that the text found is really the one that varies.
    const known = parseJson(`${before}${probe}${after}`);
    const found = isJsonObject(known) ? placeOf(known) : undefined;
    if (found?.text !== probe) return;
    this.before = before;
    this.after = after;
    this.frame = known as JsonObject;
    this.place = found;
  }
}

/** Finds the text of a frame: OpenAI's `choices[0].delta.content`, Anthropic's `delta.text`. */
function placeOf(frame: JsonObject): Place | undefined {
  const choices = frame['choices'];
  const first = Array.isArray(choices) ? choices[0] : frame;
  const delta = isJsonObject(first) ? first['delta'] : undefined;
  if (!isJsonObject(delta)) return undefined;
  const key = choices === undefined ? 'text' : 'content';
  const text = delta[key];
  return typeof text === 'string' && text !== '' ? { holder: delta, key, text } : undefined;
}
