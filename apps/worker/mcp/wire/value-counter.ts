// Counts the values in JSON before it is parsed: a few megabytes of `{},` become gigabytes and block the worker's
// only thread for seconds. Text costs nothing, however long.

/** Per message. Parsing, checking and translating this many takes some tenths of a second. */
export const maxValues = 500_000;

const quote = 0x22;
const backslash = 0x5c;
/** Values begin after `,`, `[` and `{`. */
const begins: ReadonlySet<number> = new Set([0x2c, 0x5b, 0x7b]);

export class ValueCounter {
  private values = 0;
  private inString = false;
  private escaped = false;

  /** The next bytes of the message. False if it has more values than allowed. */
  feed(chunk: Buffer): boolean {
    const found = { quote: -1, backslash: -1 };
    const next = (name: 'quote' | 'backslash', byte: number, from: number) => {
      if (found[name] < from) {
        const at = chunk.indexOf(byte, from);
        found[name] = at === -1 ? chunk.length : at;
      }
      return found[name];
    };
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.escaped) {
        this.escaped = false;
      } else if (this.inString) {
        const [end, escape] = [next('quote', quote, at), next('backslash', backslash, at)];
        at = Math.min(end, escape);
        this.escaped = escape < end;
        this.inString = end === chunk.length || this.escaped;
      } else if (chunk[at] === quote) {
        this.inString = true;
      } else if (begins.has(chunk[at]!)) {
        this.values += 1;
        if (this.values > maxValues) return false;
      }
    }
    return true;
  }
}
