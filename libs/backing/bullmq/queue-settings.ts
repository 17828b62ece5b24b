// What the tool queues promise in numbers.

export const queueSettings = {
  /** A job whose lock is older than this belongs to a dead worker. */
  lockMs: 10_000,
  /**
   * With the lock below 15 s together: so late is a worker's death known. On Redis every second check may be turned away,
   * since the last one's mark has not quite run out.
   */
  stalledCheckMs: { postgres: 4_000, redis: 1_500 },
  /** Deaths that one job may cause before it is failed and left to the journal. 0 would fail jobs never started. */
  maxStalledCount: 3,
  /**
   * Ended jobs are not kept: one that is added again is delivered again, and refused by the journal. On Redis by an age of
   * nothing, seconds: each end removes up to a thousand that the version before kept, too. On PostgreSQL the sweep does.
   */
  keep: { postgres: true, redis: { age: 0 } },
  /** An idle worker looks by itself so often: the net below a lost wake-up. */
  idlePollSeconds: 5,
  /** Pause before trying again while the store is away. */
  retryMs: 250,
  /** Times that a job may be put back (about ten minutes) before it fails: nobody here will ever know its version. */
  maxDeliveries: 150,
  putBackMs: { first: 250, most: 5_000 },
  /** BullMQ's priorities: 0 comes first. */
  priority: { interactive: 0, batch: 10 },
  /** Queue objects of workers' own queues that are kept at hand. */
  maxQueueObjects: 256,
  /**
   * Calls of one job: how many, how large together, and of how many it is remembered which job they went with. Ten
   * thousand such jobs fit into half a gigabyte of Redis beside the cache: docs/redis.md counts.
   */
  together: { maxJobs: 16, maxBytes: 12 * 1024, maxRemembered: 4_096 },
  /** BullMQ's event log, which nobody reads here. */
  maxEvents: 100,
} as const;
