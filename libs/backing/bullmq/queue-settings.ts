// The limits and times of the tool queues.

export const queueSettings = {
  /** A job whose lock is older than this belongs to a dead worker. */
  lockMs: 10_000,
  /**
   * Together with the lock below 15 s: a worker's death is detected within that time. On Redis every second check may
   * be skipped, because the mark of the last one has not quite expired.
   */
  stalledCheckMs: { postgres: 4_000, redis: 1_500 },
  /** Worker deaths one job may cause before it fails and is left to the journal. 0 would fail jobs never started. */
  maxStalledCount: 3,
  /**
   * Ended jobs are not kept: a job that is added again is delivered again, and refused by the journal. On Redis, an age of
   * 0 s makes each end also remove up to a thousand jobs that the previous version kept. On PostgreSQL the sweep removes
   * these.
   */
  keep: { postgres: true, redis: { age: 0 } },
  /** How often an idle worker polls, in case a wake-up is lost. */
  idlePollSeconds: 5,
  /** Pause before a retry while the store is unavailable. */
  retryMs: 250,
  /** Times that a job may be put back (about ten minutes) before it fails: no worker here supports its version. */
  maxDeliveries: 150,
  putBackMs: { first: 250, most: 5_000 },
  /** BullMQ's priorities: 0 comes first. */
  priority: { interactive: 0, batch: 10 },
  /** Cached queue objects for workers' own queues. */
  maxQueueObjects: 256,
  /**
   * Calls in one job: their number, their total size, and for how many calls the queue remembers which job they are in;
   * `maxWaiting` of one turn of the event loop are combined, more are refused.
   * Ten thousand such jobs fit into half a gigabyte of Redis beside the cache: docs/redis.md has the calculation.
   */
  together: { maxJobs: 16, maxBytes: 12 * 1024, maxRemembered: 4_096, maxWaiting: 20_000 },
  /** BullMQ's event log, which is not used. */
  maxEvents: 100,
} as const;
