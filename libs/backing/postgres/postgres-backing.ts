// The set of backing services that needs only PostgreSQL. Connections per process: `poolSize` for statements,
// one for channels, and one for each queue it takes jobs from (at most two).
import type { Backing } from '../backing.js';
import type { CacheBounds } from '../cache.js';
import { CarriedChannels } from '../messages/carried-channels.js';
import { OpenedBacking } from '../opened-backing.js';
import { toStoreError } from '#libs/store-error/store-error.js';
import { bullmqOnPostgres } from './bullmq-on-postgres.js';
import { BackingDatabase, type BackingDatabaseOptions } from './database.js';
import { ExpirySweep } from './expiry-sweep.js';
import { NotifyCarrier } from './notify-carrier.js';
import { PostgresCache } from './postgres-cache.js';
import { PostgresCounters } from './postgres-counters.js';
import { PostgresJobQueue } from './postgres-job-queue.js';
import { ensureSchema } from './schema.js';

export interface PostgresBackingOptions extends BackingDatabaseOptions {
  cache: CacheBounds;
  sweepIntervalMs: number;
}

export async function openPostgresBacking(options: PostgresBackingOptions): Promise<Backing> {
  const { logger } = options;
  const database = new BackingDatabase(options);
  const channels = new CarriedChannels(new NotifyCarrier(database), logger);
  try {
    await ensureSchema(database);
    await channels.open();
  } catch (error) {
    await channels.close();
    await database.close();
    throw toStoreError(error);
  }
  const source = bullmqOnPostgres(database);
  return new OpenedBacking({
    queue: new PostgresJobQueue(database, source, (error) => logger.debug({ error }, 'The tool queue reports')),
    channels,
    counters: new PostgresCounters(database),
    cache: new PostgresCache(database, options.cache),
    source,
    store: database,
    others: [new ExpirySweep(database, logger, options.sweepIntervalMs)],
    logger,
  });
}
