// A deadline that can be paused, while a person's decision or the answer to a question is waited for.
import { steadyNow } from './steady-now.js';

export class Deadline {
  private pauses = 0;
  /** `steadyNow()` at the first of the pauses that overlap. */
  private since = 0;
  private earlierMs = 0;

  /** `planned`: by `steadyNow()`, without any pause. */
  constructor(private readonly planned: number) {}

  /** The end of the time, by `steadyNow()`; moves on with the clock during a pause. */
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
