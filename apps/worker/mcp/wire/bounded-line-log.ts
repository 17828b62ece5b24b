// Logs a tool server's output besides the protocol line by line, with its name. Bounded in length and in lines per
// period; the rest is counted, not kept.
import { StringDecoder } from 'node:string_decoder';
import type { Logger } from '#libs/logging/logger.js';

const maxLineLength = 2_000;
const linesAWindow = 100;
const windowMs = 10_000;

export class BoundedLineLog {
  private readonly decoder = new StringDecoder('utf8');
  private line = '';
  private windowStart = performance.now();
  private written = 0;
  private dropped = 0;

  constructor(
    private readonly logger: Logger,
    private readonly message: string,
  ) {}

  feed(chunk: Buffer): void {
    // The beginning of a flood is enough: the rest is not even decoded.
    if (this.isFull()) {
      this.dropped += 1;
      return;
    }
    const lines = (this.line + this.decoder.write(chunk)).split(/\r?\n/);
    this.line = (lines.pop() ?? '').slice(0, maxLineLength);
    for (const line of lines) this.write(line);
  }

  write(line: string): void {
    if (line.trim() === '') return;
    if (this.isFull()) {
      this.dropped += 1;
      return;
    }
    this.written += 1;
    this.logger.info({ metadata: { line: line.slice(0, maxLineLength) } }, this.message);
  }

  /** The last line, and how much was left out. */
  close(): void {
    this.write(this.line);
    this.line = '';
    this.reportDropped();
  }

  private isFull(): boolean {
    if (performance.now() - this.windowStart > windowMs) {
      this.reportDropped();
      this.windowStart = performance.now();
      this.written = 0;
    }
    return this.written >= linesAWindow;
  }

  private reportDropped(): void {
    if (this.dropped > 0) this.logger.warn({ metadata: { pieces: this.dropped } }, `${this.message}: left out`);
    this.dropped = 0;
  }
}
