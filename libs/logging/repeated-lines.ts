// What is away is met again and again: by every retry, every poll, every call. Says whether the same line is due again: at
// once, then at growing intervals. What has not come for a while is new.

const intervalMs = { first: 1_000, most: 60_000 };
const maxKnown = 500;

interface Known {
  dueAt: number;
  intervalMs: number;
  leftOut: number;
}

export class RepeatedLines {
  private readonly known = new Map<string, Known>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** How many like it were left out since the last one that was due; undefined: this one is left out. */
  due(line: string): number | undefined {
    const now = this.now();
    const known = this.known.get(line);
    if (known === undefined || now > known.dueAt + 2 * known.intervalMs) {
      this.remember(line, { dueAt: now + intervalMs.first, intervalMs: intervalMs.first, leftOut: 0 });
      return 0;
    }
    if (now < known.dueAt) {
      known.leftOut += 1;
      return undefined;
    }
    const { leftOut } = known;
    known.intervalMs = Math.min(intervalMs.most, known.intervalMs * 2);
    known.dueAt = now + known.intervalMs;
    known.leftOut = 0;
    return leftOut;
  }

  private remember(line: string, known: Known): void {
    this.known.delete(line);
    if (this.known.size >= maxKnown) this.known.delete(this.known.keys().next().value!);
    this.known.set(line, known);
  }
}
