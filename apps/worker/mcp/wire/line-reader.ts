// Splits bytes into bounded lines.
const newline = 0x0a;
const carriageReturn = 0x0d;

export interface LineOptions {
  maxBytes: number;
  /** A line also ends at a carriage return, alone or with the newline behind it. */
  endsAtReturn?: boolean;
}

export class LineReader {
  private parts: Buffer[] = [];
  private bytes = 0;
  private afterReturn = false;

  /** `onLine` gets each line without its end. */
  constructor(
    private readonly options: LineOptions,
    private readonly onLine: (line: Buffer) => void,
  ) {}

  /** False if a line exceeds the limit: nothing more can be read. */
  feed(chunk: Buffer): boolean {
    const { maxBytes, endsAtReturn = false } = this.options;
    let [nextNewline, nextReturn] = [-1, endsAtReturn ? -1 : chunk.length];
    for (let from = 0; from < chunk.length;) {
      const isSameEnd = this.afterReturn && chunk[from] === newline;
      this.afterReturn = false;
      if (isSameEnd) {
        from += 1;
        continue;
      }
      if (nextNewline < from) nextNewline = position(chunk, newline, from);
      if (nextReturn < from) nextReturn = position(chunk, carriageReturn, from);
      const end = Math.min(nextNewline, nextReturn);
      const piece = chunk.subarray(from, end);
      this.bytes += piece.length;
      if (this.bytes > maxBytes) {
        this.parts = [];
        return false;
      }
      this.parts.push(piece);
      if (end === chunk.length) break;
      this.afterReturn = chunk[end] === carriageReturn;
      const line = this.parts.length === 1 ? this.parts[0]! : Buffer.concat(this.parts);
      this.parts = [];
      this.bytes = 0;
      from = end + 1;
      this.onLine(line);
    }
    return true;
  }
}

/** The position of the next such byte, or the end. */
function position(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at === -1 ? chunk.length : at;
}
