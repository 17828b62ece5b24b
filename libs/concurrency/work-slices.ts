// Splits long work into slices, between which other work on the event loop runs.
import { setImmediate as nextTurn } from 'node:timers/promises';

const maxBlockedMs = 10;

export class WorkSlices {
  private since = performance.now();

  /** Call it between two slices. Yields only if the event loop has been blocked for a while. */
  async next(): Promise<void> {
    if (performance.now() - this.since < maxBlockedMs) return;
    await nextTurn();
    this.since = performance.now();
  }
}
