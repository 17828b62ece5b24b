// A deadline that can be paused: time that passes meanwhile does not count, and pauses that overlap count once.
import { steadyNow } from './steady-now.js';

export class Deadline {
  private pauses = 0;
  private pausedAt = 0;
  private ended = 0;

  /** By `steadyNow()`. */
  constructor(private readonly first: number) {}

  /** By `steadyNow()`. It moves on while it is paused. */
  get at(): number {
    return this.first + this.pausedMs;
  }

  /** The time of all pauses so far. */
  get pausedMs(): number {
    return this.ended + (this.pauses === 0 ? 0 : steadyNow() - this.pausedAt);
  }

  /** Until the returned function is called. */
  pause(): () => void {
    if (this.pauses === 0) this.pausedAt = steadyNow();
    this.pauses += 1;
    let isPaused = true;
    return () => {
      if (!isPaused) return;
      isPaused = false;
      if (this.pauses === 1) this.ended = this.pausedMs;
      this.pauses -= 1;
    };
  }
}
