// Writes that the store could not take are tried again here until it can: one line of work for all of them, in the order in which
// they were added. What is written, and for how long that makes sense, only its adder knows.
import { setTimeout as delay } from 'node:timers/promises';

/** Resolves to `again` if there was nothing to write, and may be later. Rejects while the store is away. */
export type LateWrite = () => Promise<unknown>;

interface Late {
  write: LateWrite;
  /** `performance.now()` */
  until: number;
  over: () => void;
  error?: unknown;
  answered?: boolean;
}

/** Above it the oldest is given up. */
export const maxLateWrites = 10_000;
/** Tried at once: the store brings the writes of one moment together. */
export const lateWriteBatch = 256;
const pauseMs = { first: 100, most: 1_000 };

export class WriteLater {
  private readonly waiting = new Map<string, Late>();
  private readonly stop = new AbortController();
  private working: Promise<void> | undefined;

  /** `onDropped`: a write was given up because too many wait, its time is over, or the process stops. */
  constructor(private readonly onDropped: (key: string, error: unknown) => void) {}

  /** Resolves when it is written or given up. */
  add(key: string, write: LateWrite, forMs: number): Promise<void> {
    return new Promise((over) => {
      if (this.waiting.size >= maxLateWrites) this.end(...this.waiting.entries().next().value!);
      const late = { write, until: performance.now() + forMs, over };
      if (this.stop.signal.aborted) return this.end(key, late);
      this.waiting.set(key, late);
      this.working ??= this.work();
    });
  }

  has(key: string): boolean {
    return this.waiting.has(key);
  }

  /** Tries all that wait once more, as long as the store answers. */
  async close(): Promise<void> {
    this.stop.abort();
    await this.working;
    await this.round();
    for (const late of this.waiting) this.end(...late);
  }

  private async work(): Promise<void> {
    for (let pause = pauseMs.first; ; pause = Math.min(pause * 2, pauseMs.most)) {
      await this.round();
      if (this.waiting.size === 0 || this.stop.signal.aborted) break;
      // Closing ends the pause.
      await delay(pause, undefined, { ref: false, signal: this.stop.signal }).catch(() => undefined);
    }
    this.working = undefined;
  }

  /** All that wait now, batch by batch, until the store does not answer. */
  private async round(): Promise<void> {
    const all = [...this.waiting];
    for (let start = 0; start < all.length; start += lateWriteBatch) {
      const answers = await Promise.all(all.slice(start, start + lateWriteBatch).map((late) => this.try(...late)));
      if (answers.includes('away')) return;
    }
  }

  private async try(key: string, late: Late): Promise<unknown> {
    const answer = await late.write().catch((error: unknown) => ((late.error = error), 'away'));
    late.answered ||= answer !== 'away';
    if ((answer !== 'away' && answer !== 'again') || performance.now() >= late.until) this.end(key, late);
    return answer;
  }

  /** What there was nothing to write for has most likely never been there. */
  private end(key: string, { over, answered, error }: Late): void {
    this.waiting.delete(key);
    over();
    if (!answered) this.onDropped(key, error);
  }
}
