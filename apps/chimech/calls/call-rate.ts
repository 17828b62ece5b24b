// How often each caller may call in a minute, in this process: a window that refills evenly (GCRA).
import { steadyNow } from '#libs/concurrency/steady-now.js';

const minuteMs = 60_000;
const maxCallers = 10_000;

export class CallRate {
  /** When the window of a caller is full again, by the steady clock. */
  private readonly fullAt = new Map<string, number>();

  constructor(
    private readonly perMinute: number,
    private readonly now: () => number = steadyNow,
  ) {}

  /** Counts a call. Returns the seconds to wait if it is one too many, else 0. */
  enter(caller: string): number {
    const now = this.now();
    const intervalMs = minuteMs / this.perMinute;
    const full = Math.max(this.fullAt.get(caller) ?? 0, now) + intervalMs;
    const lateMs = full - now - minuteMs;
    if (lateMs > 0) return Math.ceil(lateMs / 1_000);
    if (this.fullAt.size >= maxCallers && !this.fullAt.has(caller)) this.forget(now);
    this.fullAt.set(caller, full);
    return 0;
  }

  /** Those whose window is full anyway; if there are none, who called first. */
  private forget(now: number): void {
    for (const [caller, full] of this.fullAt) if (full <= now) this.fullAt.delete(caller);
    const [first] = this.fullAt.keys();
    if (first !== undefined && this.fullAt.size >= maxCallers) this.fullAt.delete(first);
  }
}
