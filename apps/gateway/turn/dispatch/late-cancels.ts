// Ends planned calls whose callers were refused while the journal could not be told: what is left there as planned is put
// into the queue by whoever finds it, and would run after its caller has asked again. One line of work for all of them.
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditContext, Journal } from '#libs/runs/run-store.js';

export interface LateCancelsParts {
  journal: Pick<Journal, 'cancelPlanned'>;
  /** A call was let go of without the journal knowing that it was refused. */
  onDropped: () => void;
}

/**
 * Calls that are remembered; above it the oldest is let go of, whose time is over soonest. The reaper finds it: it puts the
 * call into the queue while there is time left for it, and ends it afterwards.
 */
export const maxLateCancels = 10_000;
/** Asked about at once: the journal writes them in one statement. */
export const lateCancelBatch = 256;
const pauseMs = { first: 100, most: 1_000 };
/** A statement that was given up may still be carried out: so long a call is looked for that is not there. */
const lateMs = 5_000;

interface Late {
  callId: string;
  audit: AuditContext;
  why: unknown;
  /** `performance.now()` when the journal first knew no such planned call. */
  missedAt?: number;
}

export class LateCancels {
  private readonly pending = new Map<string, Late>();
  private readonly stop = new AbortController();
  private working: Promise<void> | undefined;

  constructor(private readonly parts: LateCancelsParts) {}

  add(callId: string, audit: AuditContext, why: unknown): void {
    if (this.stop.signal.aborted) return this.parts.onDropped();
    if (this.pending.size >= maxLateCancels) {
      this.pending.delete(this.pending.keys().next().value!);
      this.parts.onDropped();
    }
    this.pending.set(callId, { callId, audit, why });
    this.working ??= this.work();
  }

  /** Asks once more about all that wait, as long as the journal answers. */
  async close(): Promise<void> {
    this.stop.abort();
    await this.working;
    await this.round();
    // What was looked for in vain has most likely never been written.
    for (const { missedAt } of this.pending.values()) if (missedAt === undefined) this.parts.onDropped();
    this.pending.clear();
  }

  private async work(): Promise<void> {
    for (let pause = pauseMs.first; ; pause = Math.min(pause * 2, pauseMs.most)) {
      await this.round();
      if (this.pending.size === 0 || this.stop.signal.aborted) break;
      // Closing ends the pause.
      await delay(pause, undefined, { ref: false, signal: this.stop.signal }).catch(() => undefined);
    }
    this.working = undefined;
  }

  /** All that wait now, batch by batch, until the journal does not answer. */
  private async round(): Promise<void> {
    const all = [...this.pending.values()];
    for (let start = 0; start < all.length; start += lateCancelBatch) {
      const answers = await Promise.all(all.slice(start, start + lateCancelBatch).map((late) => this.cancel(late)));
      if (answers.includes(false)) return;
    }
  }

  /** Each with its own audit; the journal brings those of one moment together. */
  private async cancel(late: Late): Promise<boolean> {
    try {
      const ended = await this.parts.journal.cancelPlanned([late.callId], late.audit, late.why);
      late.missedAt ??= performance.now();
      if (ended.length > 0 || performance.now() - late.missedAt >= lateMs) this.pending.delete(late.callId);
      return true;
    } catch {
      // Asked again.
      return false;
    }
  }
}
