// How long a round waited for people. Overlapping waits count once.
import { steadyNow } from '#libs/concurrency/steady-now.js';

export class HeldTime {
  private holders = 0;
  private since = 0;
  private earlierMs = 0;

  get ms(): number {
    return this.earlierMs + (this.holders > 0 ? steadyNow() - this.since : 0);
  }

  /** The wait lasts until the returned function is called. */
  enter(): () => void {
    this.holders += 1;
    if (this.holders === 1) this.since = steadyNow();
    let left = false;
    return () => {
      if (left) return;
      left = true;
      if (this.holders === 1) this.earlierMs = this.ms;
      this.holders -= 1;
    };
  }
}
