// The thread that reads files for an import: what a file can do to its reader ends with the thread. See ThreadedReader.
import { parentPort } from 'node:worker_threads';
import { type ReadDocument, UnreadableFile } from './documents.js';
import { readDocument } from './read-document.js';

export interface FileToRead {
  path: string;
  bytes: Uint8Array<ArrayBuffer>;
}

export type FileRead = { document: ReadDocument } | { reason: string };

parentPort?.on('message', ({ path, bytes }: FileToRead) => {
  void readDocument(path, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)).then(
    (document) => answer({ document }),
    (error: unknown) => answer({ reason: error instanceof UnreadableFile ? error.message : 'is damaged' }),
  );
});

function answer(read: FileRead): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(read);
}
