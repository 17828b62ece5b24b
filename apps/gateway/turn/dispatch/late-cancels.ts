// Ends planned calls whose callers were refused while the journal was away. A call that stayed planned would be put into the
// queue by the reaper, and run although its caller has repeated the request.
import type { AuditContext, Journal } from '#libs/runs/run-store.js';
import { WriteLater } from '#libs/runs/write-later.js';
import type { RunnableCall } from '../call.js';

/** How long a cancel is retried: longer than the reaper needs to end a planned call. */
const forMs = 3_600_000;
/** How long a call that the journal does not have is looked for: a plan that timed out may still be written. */
const lateMs = 5_000;

export class LateCancels {
  private readonly later: WriteLater;

  /** `onDropped`: called when a call is forgotten before the journal has ended it. */
  constructor(private readonly parts: { journal: Pick<Journal, 'plan' | 'cancelPlanned'>; onDropped: () => void }) {
    this.later = new WriteLater(parts.onDropped);
  }

  /** Plans the call. A write that failed may have been carried out all the same, and somebody would run the call. */
  async plan({ id, row, audit }: RunnableCall): Promise<void> {
    try {
      await this.parts.journal.plan(row, audit);
    } catch (error) {
      this.add(id, audit, error);
      throw error;
    }
  }

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
