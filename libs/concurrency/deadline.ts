// A deadline that stands still while somebody else is waited for: a person's decision, the answer to a question.
import { steadyNow } from './steady-now.js';

export class Deadline {
  private pauses = 0;
  /** `steadyNow()` at the first of the pauses that overlap. */
  private since = 0;
  private earlierMs = 0;

  /** `planned`: by `steadyNow()`, without any pause. */
  constructor(private readonly planned: number) {}

  /** By `steadyNow()`; while it is paused it moves on with the clock. */
  get at(): number {
    return this.planned + this.pausedMs;
  }

  /** Pauses that overlap count once. */
  get pausedMs(): number {
    return this.earlierMs + (this.pauses > 0 ? steadyNow() - this.since : 0);
  }

  /** The pause lasts until the returned function is called for the first time. */
  pause(): () => void {
    this.pauses += 1;
    if (this.pauses === 1) this.since = steadyNow();
    let over = false;
    return () => {
      if (over) return;
      over = true;
      if (this.pauses === 1) this.earlierMs = this.pausedMs;
      this.pauses -= 1;
    };
  }
}
