// Ends planned calls whose callers were refused while the journal could not be told: what is left there as planned is put
// into the queue by whoever finds it, and would run after its caller has asked again.
import type { AuditContext, Journal } from '#libs/runs/run-store.js';
import { WriteLater } from '#libs/runs/write-later.js';

/** Longer than the reaper waits: it puts the call into the queue while there is time left for it, and ends it afterwards. */
const forMs = 3_600_000;
/** A statement that was given up may still be carried out: so long a call is looked for that is not there. */
const lateMs = 5_000;

export class LateCancels {
  private readonly later: WriteLater;

  /** `onDropped`: a call was let go of without the journal knowing that it was refused. */
  constructor(private readonly parts: { journal: Pick<Journal, 'cancelPlanned'>; onDropped: () => void }) {
    this.later = new WriteLater(parts.onDropped);
  }

  /** Each with its own audit; the journal brings those of one moment together. */
  add(callId: string, audit: AuditContext, why: unknown): void {
    let missedAt: number | undefined;
    const write = async () => {
      const ended = await this.parts.journal.cancelPlanned([callId], audit, why);
      missedAt ??= performance.now();
      return ended.length > 0 || performance.now() - missedAt >= lateMs ? 'done' : 'again';
    };
    void this.later.add(callId, write, forMs);
  }

  close(): Promise<void> {
    return this.later.close();
  }
}
