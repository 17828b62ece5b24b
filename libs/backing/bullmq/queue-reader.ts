// Takes the jobs of one queue through BullMQ's backend: waits, takes, renews locks, ends jobs, and finds jobs whose worker
// has died. Does not use BullMQ's Worker class, which needs three times as many promises and queries per job.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { IQueueBackend, JobJson, KeepJobs, MinimalJob } from 'bullmq';
import type { Logger } from '#libs/logging/logger.js';
import type { BullmqSource } from './bullmq-source.js';
import { queueSettings } from './queue-settings.js';

/** How a delivery ends: the job is done, is delivered again after a delay, or is given up for a reason. */
export type JobEnd = 'done' | { delayMs: number } | { failed: string };

export interface QueueReaderParts {
  queue: string;
  worker: string;
  /** Jobs that run at once. */
  concurrency: number;
  source: BullmqSource;
  /** Must not reject. */
  deliver(job: JobJson): Promise<JobEnd>;
  logger: Logger;
}

interface Running {
  token: string;
  /** When the lock was renewed, by `performance.now()`; Infinity once the job is being ended. */
  lockedAt: number;
}

/** BullMQ's undeclared result: a job, its id, the delay of a limited rate, and when the next delayed job is due. */
type Taken = [job?: JobJson | null, id?: string, rateDelayMs?: number, dueAt?: number];

export class QueueReader {
  private readonly backend: IQueueBackend;
  private readonly keep: KeepJobs;
  private readonly running = new Map<string, Running>();
  private readonly onEnd = new Set<() => void>();
  /** Aborts when the reader takes no more jobs. */
  private readonly stopped = new AbortController();
  /** Aborts when the reader abandons running jobs. */
  private readonly closed = new AbortController();
  private readonly id = randomUUID();
  private tokens = 0;
  private readonly renewing: NodeJS.Timeout;
  private readonly reading: Promise<void>;

  constructor(private readonly parts: QueueReaderParts) {
    const { queue, worker, source } = parts;
    // The PostgreSQL backend accepts `true`, the type does not.
    this.keep = queueSettings.keep[source.kind] as KeepJobs;
    const settings = {
      connection: {},
      name: worker,
      lockDuration: queueSettings.lockMs,
      stalledInterval: queueSettings.stalledCheckMs[source.kind],
      maxStalledCount: queueSettings.maxStalledCount,
    };
    this.backend = source.factory(queue, settings, { withBlockingConnection: true });
    this.backend.on('error', this.report);
    this.renewing = setInterval(() => void this.renewLocks(), queueSettings.lockMs / 4);
    this.reading = this.read();
    void this.findStalled();
  }

  /** Takes no more jobs; resolves when the running ones have ended. */
  async drain(): Promise<void> {
    this.stopped.abort();
    // A wait for the next job would keep the process alive until its timeout.
    await this.backend.disconnectBlocking();
    await this.reading;
    while (this.running.size > 0) await this.oneEnds();
  }

  /** Abandons running jobs: once their locks are old they are delivered again. */
  async close(): Promise<void> {
    this.stopped.abort();
    this.closed.abort();
    clearInterval(this.renewing);
    await this.backend.disconnectBlocking();
    await this.backend.close(true);
  }

  private async read(): Promise<void> {
    const { backend, running, stopped } = this;
    const { concurrency, worker } = this.parts;
    // BullMQ does not report when a delayed job becomes due.
    let dueAt = Infinity;
    let looksEmpty = false;
    while (!stopped.signal.aborted) {
      const waits = looksEmpty && dueAt > Date.now();
      try {
        if (running.size >= concurrency) await this.oneEnds();
        else if (waits) {
          const mark = await backend.waitForJob(this.waitSeconds(dueAt));
          looksEmpty = mark !== null && mark.score > Date.now();
          if (looksEmpty) dueAt = Math.min(dueAt, mark!.score);
        } else {
          const token = `${this.id}:${(this.tokens += 1)}`;
          const taken = (await backend.moveToActive(token, worker)) as unknown[] as Taken;
          const job = jobOf(taken);
          dueAt = taken[3] === undefined || taken[3] <= 0 ? Infinity : taken[3];
          if (job !== undefined) this.begin(job, token);
          // If more jobs wait, a mark follows the first one, so a single job needs no second look.
          looksEmpty = job === undefined || running.size === 1;
        }
      } catch (error) {
        this.report(error);
        if (waits && !stopped.signal.aborted) await backend.reconnectBlocking().catch(this.report);
        await pause(queueSettings.retryMs, stopped.signal);
      }
    }
  }

  private waitSeconds(dueAt: number): number {
    const { minimumBlockTimeout } = this.backend;
    return Math.max(minimumBlockTimeout, Math.min(queueSettings.idlePollSeconds, (dueAt - Date.now()) / 1_000));
  }

  private begin(job: JobJson, token: string): void {
    const running = { token, lockedAt: performance.now() };
    this.running.set(job.id, running);
    void this.run(job, running);
  }

  /** Never rejects. */
  private async run(job: JobJson, running: Running): Promise<void> {
    let next: JobJson | undefined;
    try {
      // A stopping reader may still get one more job.
      const end = this.stopped.signal.aborted ? 'untouched' : await this.deliver(job);
      running.lockedAt = Infinity;
      // Retried while the store is away.
      for (let ended = false; !ended && !this.closed.signal.aborted;) {
        try {
          next = await this.end(job, running.token, end);
          ended = true;
        } catch (error) {
          if (!this.parts.source.isAway(error)) throw error;
          await pause(queueSettings.retryMs, this.closed.signal);
        }
      }
    } catch (error) {
      this.report(error);
    }
    this.running.delete(job.id);
    if (next !== undefined) this.begin(next, running.token);
    for (const listener of this.onEnd) listener();
    this.onEnd.clear();
  }

  private deliver(job: JobJson): Promise<JobEnd> | JobEnd {
    // The job has lost its worker too often.
    return job.deferredFailure === undefined ? this.parts.deliver(job) : { failed: job.deferredFailure };
  }

  /** Returns the next job, if one was taken with it. */
  private end(job: JobJson, token: string, end: JobEnd | 'untouched'): Promise<JobJson | undefined> {
    const { backend, keep } = this;
    const minimal = job as unknown as MinimalJob;
    if (end === 'done') {
      // With other running jobs, more may wait; after a single job the loop looks for more anyway.
      const fetchNext = this.running.size > 1 && !this.stopped.signal.aborted;
      return backend
        .moveToCompleted(minimal, undefined, keep, token, fetchNext)
        .then(({ result }) => jobOf((result as Taken | undefined) ?? []));
    }
    if (end === 'untouched') return backend.moveJobFromActiveToWait(job.id, token).then(none);
    if ('delayMs' in end) {
      return backend.moveToDelayed(job.id, Date.now(), end.delayMs, token, { skipAttempt: true }).then(none);
    }
    const fields = { failedReason: end.failed, stacktrace: '[]' };
    return backend.moveToFailed(minimal, end.failed, keep, token, false, fields).then(() => {
      const metadata = { queue: this.parts.queue, callId: job.id, code: end.failed };
      this.parts.logger.warn({ metadata }, 'A tool job was given up');
      return undefined;
    });
  }

  private async renewLocks(): Promise<void> {
    const now = performance.now();
    const old = [...this.running].filter(([, { lockedAt }]) => now - lockedAt > queueSettings.lockMs / 4);
    if (old.length === 0) return;
    for (const [, running] of old) running.lockedAt = now;
    const ids = old.map(([id]) => id);
    const tokens = old.map(([, { token }]) => token);
    try {
      const lost = await this.backend.extendLocks(ids, tokens, queueSettings.lockMs);
      for (const id of lost) this.report(new Error(`could not renew lock for job ${id}`));
    } catch (error) {
      this.report(error);
    }
  }

  private async findStalled(): Promise<void> {
    const { queue, source, logger } = this.parts;
    while (!this.stopped.signal.aborted) {
      try {
        for (const callId of await this.backend.moveStalledJobsToWait()) {
          logger.warn({ metadata: { queue, callId } }, 'A tool job lost its worker and is delivered again');
        }
      } catch (error) {
        this.report(error);
      }
      await pause(queueSettings.stalledCheckMs[source.kind], this.stopped.signal);
    }
  }

  private oneEnds(): Promise<void> {
    return new Promise((resolve) => this.onEnd.add(resolve));
  }

  private readonly report = (error: unknown): void => {
    if (this.closed.signal.aborted) return;
    const { queue, source, logger } = this.parts;
    // The owner of the lost connection reports an unavailable store once.
    logger[source.isAway(error) ? 'debug' : 'warn']({ error, metadata: { queue } }, 'The tool queue reports');
  };
}

function jobOf([job, id]: Taken): JobJson | undefined {
  if (!job) return undefined;
  // On Redis the job itself has no id.
  job.id = id!;
  return job;
}

const none = (): undefined => undefined;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => undefined);
