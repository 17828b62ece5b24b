// Splits long work into pieces, so that other work on the event loop gets its turn in between.
import { setImmediate as nextTurn } from 'node:timers/promises';

const heldMs = 10;

export class Turns {
  private since = performance.now();

  /** Await this between two pieces. It only yields if the event loop has been blocked for a while. */
  async next(): Promise<void> {
    if (performance.now() - this.since < heldMs) return;
    await nextTurn();
    this.since = performance.now();
  }
}
