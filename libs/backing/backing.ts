// A set of backing services. Only `open-backing.ts` chooses the set.
import type { Cache } from './cache.js';
import type { Channels } from './channels.js';
import type { Counters } from './counters.js';
import type { JobConsumer, JobHandler, JobQueue } from './job-queue.js';

export interface Backing {
  readonly kind: 'postgres' | 'redis';
  /** When this process connected; undefined without Redis. */
  readonly redisVersion: string | undefined;
  readonly queue: JobQueue;
  readonly channels: Channels;
  readonly counters: Counters;
  readonly cache: Cache;
  /** Starts taking jobs: from the common queue, and from the worker's own when `worker` is given. */
  consume(handler: JobHandler, options: { worker: string; concurrency: number }): Promise<JobConsumer>;
  /** Resolves if every service answers and accepts a small write. */
  ping(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
