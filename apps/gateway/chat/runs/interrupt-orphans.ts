// Checks periodically whether the store lists runs of this gateway that it does not run, because the store was unavailable
// when they began or ended. Known ends are written now; other runs become interrupted, so that followers and retries can
// continue.
import type { Logger } from '#libs/logging/logger.js';
import type { RunEnd, RunStore } from '#libs/runs/run-store.js';
import type { RunCancels } from './run-cancels.js';

const intervalMs = 2_000;

export class OrphanedRuns {
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();
  private willLook = false;
  /** Bounded by the turns under way when the store failed: no run begins without it. */
  private readonly lateEnds = new Map<string, RunEnd>();

  constructor(
    private readonly gatewayId: string,
    private readonly runs: RunStore,
    private readonly cancels: RunCancels,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.timer = setInterval(() => this.lookSoon(), intervalMs);
    this.timer.unref();
  }

  /** Retries an end that was not, or perhaps not, written: immediately and then periodically. */
  endLater(runId: string, end: RunEnd): void {
    this.lateEnds.set(runId, end);
    this.lookSoon();
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    if (this.lateEnds.size > 0) this.lookSoon();
    await this.looking;
  }

  private lookSoon(): void {
    if (this.willLook) return;
    this.willLook = true;
    this.looking = this.looking.then(() => {
      this.willLook = false;
      return this.look();
    });
  }

  private async look(): Promise<void> {
    try {
      for (const [runId, end] of this.lateEnds) {
        await this.runs.end(runId, this.gatewayId, end);
        this.lateEnds.delete(runId);
      }
      const isKnown = (id: string) => this.cancels.isUnderWay(id) || this.lateEnds.has(id);
      const found = await this.runs.interruptOrphans(this.gatewayId, isKnown);
      for (const runId of found) this.logger.warn({ runId }, 'an orphaned run was interrupted');
    } catch {
      // The store is unavailable: the next check repeats this.
    }
  }
}
