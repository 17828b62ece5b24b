// How full the queue is, without asking it for every call: a count that is at most half a second old, plus what was
// added here since.
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
    // Waits only where the answer may change: the usual call is not delayed by a count.
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

  /** Undefined if the last count is fresh. */
  private counted(): Promise<void> | undefined {
    if (performance.now() - this.countedAt < freshMs) return undefined;
    return (this.counting ??= this.count().finally(() => (this.counting = undefined)));
  }

  private async count(): Promise<void> {
    const before = this.admitted;
    const { waiting } = await this.queue.counts(AbortSignal.timeout(countTimeoutMs));
    // Those admitted meanwhile may not have been counted: rather one too many for a moment than one over the limit.
    this.waiting = waiting + (this.admitted - before);
    this.countedAt = performance.now();
  }
}
