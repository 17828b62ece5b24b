// Knows how full the queue is without a query for every call: from a count at most half a second old, plus the jobs that this
// gateway has added since.
import type { JobQueue } from '#libs/backing/job-queue.js';
import { AppError } from '#libs/schemas/errors.js';

const freshMs = 500;
const countTimeoutMs = 2_000;

export class QueueGauge {
  private waiting = 0;
  private admitted = 0;
  private countedAt = -Infinity;
  private counting?: Promise<void>;

  constructor(
    private readonly queue: JobQueue,
    private readonly limit: number,
  ) {}

  /** @throws AppError queue_full, store_unavailable */
  async admit(): Promise<void> {
    // Only a full queue is counted again before the answer, so that the usual call does not wait for a count.
    if (this.waiting >= this.limit) await this.counted();
    if (!this.admitAtOnce()) {
      throw new AppError('queue_full', 'Too many tool calls are waiting', { retryAfterSeconds: 1 });
    }
  }

  /** False if the queue was full when it was last counted. */
  admitAtOnce(): boolean {
    if (this.waiting >= this.limit) return false;
    this.counted()?.catch(() => undefined);
    this.waiting += 1;
    this.admitted += 1;
    return true;
  }

  /** Starts a count; undefined if the last count is fresh. */
  private counted(): Promise<void> | undefined {
    if (performance.now() - this.countedAt < freshMs) return undefined;
    return (this.counting ??= this.count().finally(() => (this.counting = undefined)));
  }

  private async count(): Promise<void> {
    const before = this.admitted;
    const { waiting } = await this.queue.counts(AbortSignal.timeout(countTimeoutMs));
    // Calls admitted during the count may be in it or not, so all are added: the limit is never exceeded.
    this.waiting = waiting + (this.admitted - before);
    this.countedAt = performance.now();
  }
}
