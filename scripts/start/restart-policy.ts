// When a part that ended is started again: each time a little later, and not at all after too many short lives in a row.
// Pure: it counts, others wait.

export interface RestartLimits {
  firstDelayMs: number;
  maxDelayMs: number;
  /** Ends in a row that end everything. */
  maxFailures: number;
  /** A life this long was a good one: the count starts anew. */
  goodLifeMs: number;
}

export const restartLimits: RestartLimits = {
  firstDelayMs: 250,
  maxDelayMs: 10_000,
  maxFailures: 5,
  goodLifeMs: 60_000,
};

export class RestartPolicy {
  private failures = 0;

  constructor(private readonly limits: RestartLimits) {}

  /** How long to wait before the next start, ms; undefined: give up. */
  afterEnd(livedMs: number): number | undefined {
    if (livedMs >= this.limits.goodLifeMs) this.failures = 0;
    this.failures += 1;
    if (this.failures >= this.limits.maxFailures) return undefined;
    return Math.min(this.limits.firstDelayMs * 2 ** (this.failures - 1), this.limits.maxDelayMs);
  }
}
