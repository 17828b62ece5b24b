// Reads files one after the other in a thread, with a bound on time and memory for each. The thread is started with the first
// file, and anew after one that was too much for it.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { builtProgram } from '#libs/process/find-installed.js';
import { type ReadDocument, UnreadableFile } from './documents.js';
import type { FileRead, FileToRead } from './reading-thread.js';

export interface ThreadedReaderOptions {
  /** Of one file. */
  timeoutMs?: number;
  /** Of the thread's objects. */
  maxMegabytes?: number;
}

export class ThreadedReader {
  private thread: Worker | undefined;

  constructor(private readonly options: ThreadedReaderOptions = {}) {}

  /** @throws UnreadableFile; the signal's reason */
  async read(path: string, bytes: Buffer, signal: AbortSignal): Promise<ReadDocument> {
    const { timeoutMs = 60_000 } = this.options;
    const thread = (this.thread ??= this.start());
    const late = AbortSignal.timeout(timeoutMs);
    try {
      const message: FileToRead = { path, bytes: new Uint8Array(bytes) };
      const answer = once(thread, 'message', { signal: AbortSignal.any([signal, late]) });
      thread.postMessage(message, [message.bytes.buffer]);
      const [read] = (await answer) as [FileRead];
      if ('document' in read) return read.document;
      throw new UnreadableFile(read.reason);
    } catch (error) {
      if (error instanceof UnreadableFile) throw error;
      await this.close();
      if (signal.aborted) throw signal.reason;
      throw new UnreadableFile(
        late.aborted ? `takes longer than ${timeoutMs} ms to read` : 'takes too much memory to read',
        { cause: error },
      );
    }
  }

  async close(): Promise<void> {
    const { thread } = this;
    this.thread = undefined;
    await thread?.terminate();
  }

  private start(): Worker {
    const { maxMegabytes = 1_024 } = this.options;
    return new Worker(builtProgram('apps/chimech/knowledge/import/reading-thread.js'), {
      resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
    });
  }
}
