// The body of an answer as a Node stream. The connection pauses while nobody reads, and the exchange closes when the stream
// ends or is destroyed.
import { Readable } from 'node:stream';
import type { HttpAnswer } from './outgoing.js';

const readAheadBytes = 64 * 1024;

/** @param read Gives what is to be read for each piece; if it throws, the stream ends with that error. */
export function streamOf(answer: HttpAnswer, read = (bytes: Uint8Array) => bytes): Readable {
  let readOn: (() => void) | undefined;
  const stream = new Readable({
    highWaterMark: readAheadBytes,
    read: () => readOn?.(),
    destroy: (error, done) => {
      answer.close();
      done(error);
    },
  });
  // The reader gets the error; without a reader it can be ignored.
  stream.on('error', () => undefined);
  const take = (bytes: Uint8Array) => {
    const piece = read(bytes);
    if (piece.length > 0 && !stream.push(piece))
      return new Promise<undefined>((resolve) => (readOn = () => resolve(undefined)));
  };
  answer.read(take).then(
    () => {
      stream.push(null);
      // Needed here too: the rest of the body may never be read.
      answer.close();
    },
    (error: Error) => stream.destroy(error),
  );
  return stream;
}
