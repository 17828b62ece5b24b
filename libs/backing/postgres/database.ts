// The backing's PostgreSQL: a crash may lose the last half second of its queue and counters, because the journal adds a
// planned call again if its job is missing. Waiting for the disk at each step would double a call's latency.
import type { Logger } from '#libs/logging/logger.js';
import { PostgresPool } from '#libs/postgres/pool.js';

export interface BackingDatabaseOptions {
  databaseUrl: string;
  /** Connections for statements. LISTEN takes up to three more (channels, common queue, a worker's own queue). */
  poolSize: number;
  /** Deadline of one port call. */
  timeoutMs: number;
  applicationName: string;
  logger: Logger;
}

/** Writes to an unlogged table, which does not wait for the disk. */
const writeOne = `insert into signalbox_backing.counter as c (key, total, expires_at)
values ('writable', 0, clock_timestamp() + interval '1 minute')
on conflict (key) do update set expires_at = excluded.expires_at`;

export class BackingDatabase extends PostgresPool {
  constructor({ databaseUrl, ...options }: BackingDatabaseOptions) {
    super({
      ...options,
      url: databaseUrl,
      statementTimeoutMs: options.timeoutMs * 2,
      idleMs: 30_000,
      set: { search_path: 'bullmq,public', synchronous_commit: 'off' },
    });
  }

  /** Writes, since a read-only or full server still answers queries. */
  async ping(signal: AbortSignal): Promise<void> {
    await this.run(writeOne, [], signal);
  }
}
