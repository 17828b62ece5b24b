// Removes expired rows, and ended jobs that the previous version kept, a bounded number of rows at a time. These rows are
// never read, so a failed sweep is left to the next one.
import type { Logger } from '#libs/logging/logger.js';
import type { BackingDatabase } from './database.js';

const rowsAtOnce = 5_000;
const expired = 'expires_at <= clock_timestamp()';
const rows = {
  'signalbox_backing.counter': expired,
  'signalbox_backing.shared_place': expired,
  'signalbox_backing.sliding_window': expired,
  'signalbox_backing.cache': expired,
  'bullmq.job': `state in ('completed', 'failed')`,
};

export class ExpirySweep {
  private readonly timer: NodeJS.Timeout;
  private running: Promise<void> | undefined;

  constructor(
    private readonly database: BackingDatabase,
    private readonly logger: Logger,
    intervalMs: number,
  ) {
    this.timer = setInterval(() => {
      this.running ??= this.sweep().finally(() => (this.running = undefined));
    }, intervalMs).unref();
  }

  private async sweep(): Promise<void> {
    try {
      for (const [table, condition] of Object.entries(rows)) {
        await this.database.run(
          `delete from ${table} where ctid = any(array(
             select ctid from ${table} where ${condition} limit ${rowsAtOnce} for update skip locked))`,
          [],
        );
      }
    } catch (error) {
      this.logger.debug({ error }, 'Expired rows of the backing were not removed this time');
    }
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }
}
