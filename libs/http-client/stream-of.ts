// The body of an answer as a stream, for those who read one: it holds the connection while nobody reads, and closes the
// exchange when it ends or is left.
import { Readable } from 'node:stream';
import type { HttpAnswer } from './outgoing.js';

const readAheadBytes = 64 * 1024;

/** @param check Sees each piece first; what it throws ends the stream. */
export function streamOf(answer: HttpAnswer, check?: (bytes: Uint8Array) => void): Readable {
  let readOn: (() => void) | undefined;
  const stream = new Readable({
    highWaterMark: readAheadBytes,
    read: () => readOn?.(),
    destroy: (error, done) => {
      answer.close();
      done(error);
    },
  });
  // Its reader gets the error; without a reader it can be ignored.
  stream.on('error', () => undefined);
  const take = (bytes: Uint8Array) => {
    check?.(bytes);
    if (!stream.push(bytes)) return new Promise<undefined>((resolve) => (readOn = () => resolve(undefined)));
  };
  answer.read(take).then(
    () => {
      stream.push(null);
      // Also where nobody reads the rest, which is here.
      answer.close();
    },
    (error: Error) => stream.destroy(error),
  );
  return stream;
}
