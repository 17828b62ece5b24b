// Pauses between repeated attempts. Each is twice as long as the last; after a quiet time of twice the longest pause it
// starts from the shortest again.
export class GrowingPause {
  private ms = 0;
  private takenAt = -Infinity;

  constructor(private readonly boundsMs: { readonly least: number; readonly most: number }) {}

  /** In ms. */
  next(): number {
    const { least, most } = this.boundsMs;
    const now = performance.now();
    const rested = now - this.takenAt > this.ms + 2 * most;
    this.ms = rested ? least : Math.min(2 * this.ms, most);
    this.takenAt = now;
    return this.ms;
  }
}
