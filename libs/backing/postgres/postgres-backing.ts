// The set of backing services that needs nothing but PostgreSQL. Connections of one process: `poolSize` for statements,
// one for channels, and one for each queue it takes jobs from (two at most).
import type { Logger } from '#libs/logging/logger.js';
import type { Backing } from '../backing.js';
import { ToolConsumer, type ToolConsumerOptions } from '../bullmq/tool-consumer.js';
import type { BullmqSource } from '../bullmq/bullmq-source.js';
import type { Cache } from '../cache.js';
import type { Counters } from '../counters.js';
import type { JobConsumer, JobHandler, JobQueue } from '../job-queue.js';
import { storeUnavailable, toStoreError, withinDeadline } from '../store-error.js';
import { bullmqOnPostgres } from './bullmq-on-postgres.js';
import { Database, type DatabaseOptions } from './database.js';
import { ExpirySweep } from './expiry-sweep.js';
import { type CacheBounds, PostgresCache } from './postgres-cache.js';
import { PostgresChannels } from './postgres-channels.js';
import { PostgresCounters } from './postgres-counters.js';
import { PostgresJobQueue } from './postgres-job-queue.js';
import { ensureSchema } from './schema.js';

export interface PostgresBackingOptions extends DatabaseOptions {
  cache: CacheBounds;
  sweepIntervalMs: number;
}

export async function openPostgresBacking(options: PostgresBackingOptions): Promise<Backing> {
  const database = new Database(options);
  const channels = new PostgresChannels(database, options.logger);
  try {
    await ensureSchema(database);
    await channels.open();
  } catch (error) {
    await channels.close();
    await database.close();
    throw toStoreError(error);
  }
  return new PostgresBacking(database, channels, options);
}

class PostgresBacking implements Backing {
  readonly kind = 'postgres';
  readonly queue: JobQueue;
  readonly counters: Counters;
  readonly cache: Cache;
  private readonly logger: Logger;
  private readonly source: BullmqSource;
  private readonly sweep: ExpirySweep;
  private readonly consumers = new Set<ToolConsumer>();
  private closing: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    readonly channels: PostgresChannels,
    options: PostgresBackingOptions,
  ) {
    this.logger = options.logger;
    this.source = bullmqOnPostgres(database);
    this.queue = new PostgresJobQueue(database, this.source, (error) =>
      this.logger.debug({ error }, 'The tool queue reports'),
    );
    this.counters = new PostgresCounters(database);
    this.cache = new PostgresCache(database, options.cache);
    this.sweep = new ExpirySweep(database, options.logger, options.sweepIntervalMs);
  }

  async consume(handler: JobHandler, options: ToolConsumerOptions): Promise<JobConsumer> {
    if (this.closing !== undefined) throw storeUnavailable('The store is closed');
    const consumer = new ToolConsumer(this.source, handler, this.logger, options);
    this.consumers.add(consumer);
    return {
      drain: (signal) => consumer.drain(signal),
      close: async () => {
        await consumer.close();
        this.consumers.delete(consumer);
      },
    };
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.database.run('select 1', [], signal);
    if (!this.channels.isConnected) throw storeUnavailable('The channels are not connected');
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    const parts = [...this.consumers, this.queue, this.channels, this.sweep];
    await Promise.all(
      parts.map((part) =>
        withinDeadline(this.database.timeoutMs, undefined, () => part.close()).catch((error: unknown) =>
          this.logger.warn({ error }, 'A backing service did not close in time'),
        ),
      ),
    );
    await this.database.close();
  }
}
