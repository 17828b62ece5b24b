// Looks every few moments whether the store holds runs of this gateway that it does not run: the store was away when one
// ended or began. They become interrupted, so that whoever waits for them or tries again can go on.
import type { Logger } from '#libs/logging/logger.js';
import type { RunStore } from '#libs/runs/run-store.js';
import type { RunCancels } from './run-cancels.js';

const intervalMs = 2_000;

export class OrphanedRuns {
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();

  constructor(
    private readonly gatewayId: string,
    private readonly runs: RunStore,
    private readonly cancels: RunCancels,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.timer = setInterval(() => {
      this.looking = this.looking.then(() => this.look());
    }, intervalMs);
    this.timer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.looking;
  }

  private async look(): Promise<void> {
    try {
      const found = await this.runs.interruptOrphans(this.gatewayId, (id) => this.cancels.isUnderWay(id));
      for (const runId of found) this.logger.warn({ runId }, 'a run that nobody ran any more was interrupted');
    } catch {
      // The store is away: this is asked again.
    }
  }
}
