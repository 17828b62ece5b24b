// Where the lines of the log go: a file descriptor, usually a pipe, whose reader may be slow, stuck or gone. Never waits for
// it, except a moment at the end of the process; holds a bounded amount of text, and leaves out and counts what is more.
//
// Not pino's own destination (sonic-boom): it writes from a thread of libuv, which a reader that stands still keeps, and its
// last flush turns for ever once the reader of a pipe has gone (EPIPE).
import { writeSync } from 'node:fs';

/** Where whole lines go. */
export interface LineStream {
  write(line: string): void;
}

export interface BoundedOutputOptions {
  fd: number;
  /** The reader has taken everything again, after so many lines were left out. */
  onCaughtUp?: (lines: number) => void;
  /** Characters and bytes that may wait for the reader. */
  maxWaiting?: number;
}

const maxWaiting = 8 * 1024 * 1024;
/** One write of this process; what one turn of the event loop logs goes out together. */
const maxGathered = 65_536;
const retryMs = { first: 2, most: 100 };
/** How long the end of the process waits for a reader that takes nothing. */
const flushMs = 1_000;
const flushPauseMs = 5;

let dropped = 0;

/** Lines of this process that were left out, because nobody read those before them. */
export const droppedLines = (): number => dropped;

export class BoundedOutput implements LineStream {
  private gathered = '';
  /** Longer pieces that wait; the first may have been written in part. */
  private pieces: Buffer[] = [];
  private waiting = 0;
  private retryDelayMs = retryMs.first;
  /** A write is on its way: at the end of this turn, or when the reader is tried again. */
  private scheduled = false;
  private gone = false;
  private untold = 0;
  private readonly maxWaiting: number;

  constructor(private readonly options: BoundedOutputOptions) {
    this.maxWaiting = options.maxWaiting ?? maxWaiting;
  }

  write(line: string): void {
    if (this.gone) return;
    if (this.waiting + this.gathered.length + line.length > this.maxWaiting) return this.leaveOut();
    this.gathered += line;
    if (this.gathered.length >= maxGathered) this.wrap();
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(this.attempt);
  }

  /** Writes what is held, waiting a moment for the reader. For the last moment of a process. */
  flush(): void {
    const until = performance.now() + flushMs;
    this.wrap();
    while (!this.writeAll()) {
      if (performance.now() > until) return this.giveUp();
      // Nothing else can run any more: the process ends.
      Atomics.wait(pauseCell, 0, 0, flushPauseMs);
    }
  }

  private readonly attempt = (): void => {
    this.wrap();
    if (!this.writeAll()) {
      setTimeout(this.attempt, this.retryDelayMs).unref();
      this.retryDelayMs = Math.min(retryMs.most, this.retryDelayMs * 2);
      return;
    }
    this.scheduled = false;
    this.retryDelayMs = retryMs.first;
    const lines = this.untold;
    this.untold = 0;
    if (lines > 0) this.options.onCaughtUp?.(lines);
  };

  private wrap(): void {
    if (this.gathered === '') return;
    const piece = Buffer.from(this.gathered);
    this.gathered = '';
    this.pieces.push(piece);
    this.waiting += piece.length;
  }

  /** False: the reader takes no more for now. */
  private writeAll(): boolean {
    try {
      while (this.pieces.length > 0) {
        const [piece] = this.pieces as [Buffer];
        const written = writeSync(this.options.fd, piece);
        this.waiting -= written;
        if (written === piece.length) this.pieces.shift();
        else this.pieces[0] = piece.subarray(written);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
      // Nobody reads any more, or the disk takes nothing: the process serves without its log.
      if ((error as NodeJS.ErrnoException).code === 'EPIPE') this.gone = true;
      this.giveUp();
    }
    return true;
  }

  private giveUp(): void {
    for (const piece of this.pieces) dropped += countLines(piece);
    this.pieces = [];
    this.waiting = 0;
  }

  private leaveOut(): void {
    dropped += 1;
    this.untold += 1;
  }
}

const pauseCell = new Int32Array(new SharedArrayBuffer(4));

function countLines(piece: Buffer): number {
  let lines = 0;
  for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) lines += 1;
  return lines;
}
