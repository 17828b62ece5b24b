// Long work in pieces: whoever does it lets the others of the event loop have their turn now and then.
import { setImmediate as nextTurn } from 'node:timers/promises';

const heldMs = 10;

export class Turns {
  private since = performance.now();

  /** To be awaited between two pieces; waits only where the loop has been held for a while. */
  async next(): Promise<void> {
    if (performance.now() - this.since < heldMs) return;
    await nextTurn();
    this.since = performance.now();
  }
}
