// Reads the server-sent events of an answer. https://html.spec.whatwg.org/multipage/server-sent-events.html
import { SignalboxError } from './errors.js';

export interface ServerSentEvent {
  id: string | undefined;
  data: string;
}

/** Characters; a tool's result is at most 256 KiB, and a message of a model is in pieces. */
const longestEvent = 32 * 1024 * 1024;

/** Runs while the stream is waited for, not while its reader is busy with an event. */
export interface IdleClock {
  touch(): void;
  stopClock(): void;
}

/** An event that is cut off by the end of the stream is dropped. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  clock: IdleClock,
): AsyncGenerator<ServerSentEvent, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let id: string | undefined;
  let data: string[] = [];
  let length = 0;
  try {
    for (;;) {
      clock.touch();
      const next = await reader.read();
      clock.stopClock();
      if (next.done) return;
      const lines = (rest + decoder.decode(next.value, { stream: true })).split('\n');
      rest = lines.pop()!;
      if (length + rest.length > longestEvent) throw new SignalboxError('invalid_answer', 'An event is too long');
      for (const ended of lines) {
        const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended;
        if (line === '') {
          if (data.length > 0) yield { id, data: data.join('\n') };
          [id, data, length] = [undefined, [], 0];
        } else if (line.startsWith('id:')) id = valueOf(line, 3);
        else if (line.startsWith('data:')) {
          data.push(valueOf(line, 5));
          length += line.length;
        }
      }
    }
  } finally {
    // The connection is not used again for a stream that its reader left.
    await reader.cancel().catch(() => undefined);
  }
}

const valueOf = (line: string, at: number) => (line[at] === ' ' ? line.slice(at + 1) : line.slice(at));
