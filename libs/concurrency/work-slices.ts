// Splits long work into pieces, so that other work on the event loop gets its turn in between.
import { setImmediate as nextTurn } from 'node:timers/promises';

const maxBlockedMs = 10;

export class WorkSlices {
  private since = performance.now();

  /** Await this between two pieces. It only yields if the event loop has been blocked for a while. */
  async next(): Promise<void> {
    if (performance.now() - this.since < maxBlockedMs) return;
    await nextTurn();
    this.since = performance.now();
  }
}
