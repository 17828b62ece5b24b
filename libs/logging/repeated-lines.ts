// Every retry, poll and call meets the same outage again. Says whether an equal line is due again: at once, then at growing
// intervals. A line that has not come for a while counts as new.

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

  /** How many equal lines were left out since the last that was due; undefined: leave this line out. */
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
