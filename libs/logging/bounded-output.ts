// Writes the log's lines to a file descriptor, usually a pipe, whose reader may be slow, stuck or gone. Pino's own
// destination holds a bounded amount of text for a reader that takes nothing, and never waits for it, except a moment at the end
// of the process. Added here: lines that pino leaves out are counted, the reader is tried again, and given up once gone.
import { pino } from 'pino';

/** A stream of whole lines. */
export interface LineStream {
  write(line: string): void;
}

export interface BoundedOutput extends LineStream {
  /** Writes held lines, waiting a moment for the reader. Call at the end of a process. */
  flush(): void;
}

export interface BoundedOutputOptions {
  fd: number;
  /** The reader has taken everything again, after so many lines were left out. */
  onCaughtUp?: (lines: number) => void;
  /** Bytes that may wait for the reader. */
  maxWaiting?: number;
}

const retryMs = 100;
/** How long the end of the process waits for a reader that takes nothing. */
const flushMs = 1_000;

let dropped = 0;

/** Lines of this process that were left out, because nobody read those before them. */
export const droppedLines = (): number => dropped;

export function openOutput({ fd, onCaughtUp, maxWaiting = 8 * 1024 * 1024 }: BoundedOutputOptions): BoundedOutput {
  let mayWaitUntil = -Infinity;
  const retryEAGAIN = () => performance.now() < mayWaitUntil;
  let output: ReturnType<typeof pino.destination> | undefined = pino.destination({
    dest: fd,
    // Otherwise a reader that stands still would block a thread of libuv.
    sync: true,
    maxLength: maxWaiting,
    retryEAGAIN,
  });
  let unreported = 0;
  let retry: NodeJS.Timeout | undefined;
  /** An empty write also writes held lines. */
  const writeHeld = () => {
    retry = undefined;
    output?.write('');
  };
  output.on('error', (error: NodeJS.ErrnoException) => {
    // Nobody reads any more: the process serves without its log. A last flush would loop for ever.
    if (error.code === 'EPIPE') output = undefined;
    else retry ??= setTimeout(writeHeld, retryMs).unref();
  });
  output.on('drop', () => {
    dropped += 1;
    unreported += 1;
    if (unreported > 1) return;
    output?.once('drain', () => {
      const lines = unreported;
      unreported = 0;
      onCaughtUp?.(lines);
    });
  });
  return {
    write: (line) => void output?.write(line),
    flush() {
      mayWaitUntil = performance.now() + flushMs;
      writeHeld();
    },
  };
}
