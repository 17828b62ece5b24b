// Removes what has expired, a bounded number of rows at a time. Readers never see expired rows: this is only for space,
// so a failure is left to the next time.
import type { Logger } from '#libs/logging/logger.js';
import type { Database } from './database.js';

const rowsAtOnce = 5_000;
const tables = ['counter', 'place', 'cache'] as const;

export class ExpirySweep {
  private readonly timer: NodeJS.Timeout;
  private running: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    intervalMs: number,
  ) {
    this.timer = setInterval(() => {
      this.running ??= this.sweep().finally(() => (this.running = undefined));
    }, intervalMs);
    this.timer.unref();
  }

  private async sweep(): Promise<void> {
    try {
      for (const table of tables) {
        await this.database.run(
          `delete from signalbox_backing.${table} where ctid = any(array(
             select ctid from signalbox_backing.${table} where expires_at <= clock_timestamp() limit ${rowsAtOnce}
             for update skip locked))`,
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
