// Ends planned calls whose callers were refused while the journal was away. A call that stayed planned would be put into the
// queue by the reaper, and run although its caller has repeated the request.
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditContext, Journal } from '#libs/runs/run-store.js';

export interface LateCancelsParts {
  journal: Pick<Journal, 'cancelPlanned'>;
  /** Called when a call is forgotten before the journal has ended it. */
  onDropped: () => void;
}

/**
 * How many calls are remembered. Above this number the oldest call, whose time is over soonest, is forgotten: the reaper puts a
 * planned call into the queue while it has time left, and ends it afterwards.
 */
export const maxLateCancels = 10_000;
/** How many calls are ended at once; the journal combines their statements. */
export const lateCancelBatch = 256;
const pauseMs = { first: 100, most: 1_000 };
/** How long a call that the journal does not have is looked for: a plan that timed out may still be written. */
const lateMs = 5_000;

interface Late {
  callId: string;
  audit: AuditContext;
  why: unknown;
  /** `performance.now()` when the journal first had no such planned call. */
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

  /** Tries once more to end all pending calls, as long as the journal answers. */
  async close(): Promise<void> {
    this.stop.abort();
    await this.working;
    await this.round();
    // A call that the journal does not have was most likely never written.
    for (const { missedAt } of this.pending.values()) if (missedAt === undefined) this.parts.onDropped();
    this.pending.clear();
  }

  private async work(): Promise<void> {
    for (let pause = pauseMs.first; ; pause = Math.min(pause * 2, pauseMs.most)) {
      await this.round();
      if (this.pending.size === 0 || this.stop.signal.aborted) break;
      // `close` aborts the pause.
      await delay(pause, undefined, { ref: false, signal: this.stop.signal }).catch(() => undefined);
    }
    this.working = undefined;
  }

  /** Ends the pending calls batch by batch, until the journal does not answer. */
  private async round(): Promise<void> {
    const all = [...this.pending.values()];
    for (let start = 0; start < all.length; start += lateCancelBatch) {
      const answers = await Promise.all(all.slice(start, start + lateCancelBatch).map((late) => this.cancel(late)));
      if (answers.includes(false)) return;
    }
  }

  /** False if the journal does not answer. */
  private async cancel(late: Late): Promise<boolean> {
    try {
      const ended = await this.parts.journal.cancelPlanned([late.callId], late.audit, late.why);
      late.missedAt ??= performance.now();
      if (ended.length > 0 || performance.now() - late.missedAt >= lateMs) this.pending.delete(late.callId);
      return true;
    } catch {
      return false;
    }
  }
}
