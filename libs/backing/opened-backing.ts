// An open set of backing services: takes jobs, answers health checks, and closes its parts in order. The differences
// between the sets are passed in.
import type { Logger } from '#libs/logging/logger.js';
import type { Backing } from './backing.js';
import type { BullmqSource } from './bullmq/bullmq-source.js';
import { ToolConsumer, type ToolConsumerOptions } from './bullmq/tool-consumer.js';
import type { Cache } from './cache.js';
import type { Counters } from './counters.js';
import type { JobConsumer, JobHandler, JobQueue } from './job-queue.js';
import type { CarriedChannels } from './messages/carried-channels.js';
import { storeUnavailable, withinDeadline } from '#libs/store-error/store-error.js';

interface Closable {
  close(): Promise<void>;
}

/** Used by all parts of a set; closed last. */
export interface Store extends Closable {
  /** Deadline of one call, ms. */
  readonly timeoutMs: number;
  /** Writes: a store that is full or read-only is unusable here. */
  ping(signal: AbortSignal): Promise<void>;
}

export interface BackingParts {
  queue: JobQueue;
  channels: CarriedChannels;
  counters: Counters;
  cache: Cache;
  source: BullmqSource;
  store: Store;
  /** Further parts that must be closed before the store. */
  others: readonly Closable[];
  redisVersion?: string | undefined;
  logger: Logger;
}

export class OpenedBacking implements Backing {
  readonly kind: Backing['kind'];
  readonly redisVersion: string | undefined;
  readonly queue: JobQueue;
  readonly channels: CarriedChannels;
  readonly counters: Counters;
  readonly cache: Cache;
  private readonly consumers = new Set<ToolConsumer>();
  private closing: Promise<void> | undefined;

  constructor(private readonly parts: BackingParts) {
    this.kind = parts.source.kind;
    this.redisVersion = parts.redisVersion;
    this.queue = parts.queue;
    this.channels = parts.channels;
    this.counters = parts.counters;
    this.cache = parts.cache;
  }

  async consume(handler: JobHandler, options: ToolConsumerOptions): Promise<JobConsumer> {
    if (this.closing !== undefined) throw storeUnavailable('The store is closed');
    const consumer = new ToolConsumer(this.parts.source, handler, this.parts.logger, options);
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
    await this.parts.store.ping(signal);
    if (!this.channels.isConnected) throw storeUnavailable('The channels are not connected');
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    const { store, logger } = this.parts;
    const before = [...this.consumers, this.queue, this.channels, ...this.parts.others];
    await Promise.all(
      before.map((part) =>
        withinDeadline(store.timeoutMs, undefined, () => part.close()).catch((error: unknown) =>
          logger.warn({ error }, 'A backing service did not close in time'),
        ),
      ),
    );
    await store.close();
  }
}
