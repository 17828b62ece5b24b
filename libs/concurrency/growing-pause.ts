// How long to wait before what may come again and again is done once more: twice as long each time, from the start again
// after a rest of twice the longest pause.
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
