// Takes jobs with BullMQ's Worker class, from the common queue and the worker's own, and passes them to one handler.
// Decides nothing about a call: it delivers, acknowledges, puts back and reports whether it delivered before.
import { DelayedError, type Job, type KeepJobs, WaitingError, Worker } from 'bullmq';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { type JobConsumer, type JobHandler, PutBack } from '../job-queue.js';
import type { BullmqSource } from './bullmq-source.js';
import { commonQueueName, workerQueueName } from './job-id.js';
import { type JobPayload, readPayload } from './job-payload.js';
import { queueSettings } from './queue-settings.js';

export interface ToolConsumerOptions {
  worker: string;
  /** Concurrent jobs from each queue. */
  concurrency: number;
}

type ToolWorker = Worker<JobPayload, void, string, never, never, unknown>;

export class ToolConsumer implements JobConsumer {
  private readonly workers: ToolWorker[];
  private draining: Promise<unknown> | undefined;
  private closing: Promise<void> | undefined;
  private readonly closed = new AbortController();

  constructor(
    private readonly source: BullmqSource,
    private readonly handler: JobHandler,
    private readonly logger: Logger,
    options: ToolConsumerOptions,
  ) {
    const names = [commonQueueName, ...(options.worker === '' ? [] : [workerQueueName(options.worker)])];
    this.workers = names.map((name) => this.open(name, options));
  }

  private open(name: string, options: ToolConsumerOptions): ToolWorker {
    // The PostgreSQL backend accepts `true`, the type does not.
    const keep = queueSettings.keep[this.source.kind] as KeepJobs;
    const worker = new Worker(
      name,
      // No third parameter: with one BullMQ creates an AbortController for every job.
      (job: Job<JobPayload>, token?: string) => this.deliver(job, token),
      {
        connection: {},
        name: options.worker,
        concurrency: options.concurrency,
        lockDuration: queueSettings.lockMs,
        stalledInterval: queueSettings.stalledCheckMs[this.source.kind],
        maxStalledCount: queueSettings.maxStalledCount,
        drainDelay: queueSettings.idlePollSeconds,
        runRetryDelay: queueSettings.retryMs,
        removeOnComplete: keep,
        removeOnFail: keep,
      },
      this.source.factory,
    ) as unknown as ToolWorker;
    worker.on('error', (error) => {
      if (this.closed.signal.aborted) return;
      // The owner of the lost connection reports an unavailable store once.
      const level = this.source.isAway(error) ? 'debug' : 'warn';
      this.logger[level]({ error, metadata: { queue: name } }, 'The tool queue reports');
    });
    worker.on('stalled', (callId) =>
      this.logger.warn({ metadata: { queue: name, callId } }, 'A tool job lost its worker and is delivered again'),
    );
    // The queue has already removed it.
    worker.on('failed', (job, { message: code }) =>
      this.logger.warn({ metadata: { queue: name, callId: job?.id ?? '', code } }, 'A tool job was given up'),
    );
    return worker;
  }

  private async deliver(job: Job<JobPayload>, token: string | undefined): Promise<void> {
    // BullMQ may take one more job while it stops.
    if (this.draining !== undefined || this.closing !== undefined) {
      await this.persist(() => job.moveToWait(token));
      throw new WaitingError();
    }
    const read = readPayload(job.data);
    if (read.kind === 'invalid') throw failure('invalid_payload');
    if (read.kind === 'unknown version') return this.putBack(job, token);
    const redelivered = job.stalledCounter > 0;
    // A call that was put back with others may have ended before.
    const repeated = read.again || (read.jobs.length > 1 && job.attemptsStarted > 1);
    const failures: { error: unknown; job: ToolJob }[] = [];
    const handle = (each: ToolJob) =>
      this.handler({ job: each, redelivered, repeated }).catch((error: unknown) => {
        failures.push({ error, job: each });
      });
    if (read.jobs.length === 1) await handle(read.jobs[0]!);
    else await Promise.all(read.jobs.map(handle));
    if (failures.some(({ error }) => error instanceof PutBack)) return this.putBack(job, token);
    for (const { error, job: failed } of failures) {
      this.logger.error({ error, tool: failed.tool, requestId: failed.requestId }, 'A tool job failed');
    }
    const [first] = failures;
    if (first !== undefined) throw failure(first.error instanceof AppError ? first.error.code : 'internal_error');
  }

  private async putBack(job: Job<JobPayload>, token: string | undefined): Promise<never> {
    if (job.attemptsStarted >= queueSettings.maxDeliveries) throw failure('put_back_too_often');
    const { first, most } = queueSettings.putBackMs;
    const delayMs = Math.min(most, first * 2 ** Math.min(job.attemptsStarted - 1, 10));
    await this.persist(() => job.moveToDelayed(Date.now() + delayMs, token));
    throw new DelayedError();
  }

  /** A step whose failure BullMQ would count as the job's own if the store is unavailable. */
  private async persist(step: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await step();
        return;
      } catch (error) {
        if (!this.source.isAway(error) || this.closed.signal.aborted) throw error;
        await pause(queueSettings.retryMs, this.closed.signal);
      }
    }
  }

  drain(signal: AbortSignal): Promise<void> {
    // Pausing a worker waits for its jobs and keeps renewing their locks.
    this.draining ??= Promise.all(this.workers.map((worker) => worker.pause()));
    return untilAborted(this.draining, AbortSignal.any([signal, this.closed.signal]));
  }

  close(): Promise<void> {
    this.closing ??= this.stop();
    return this.closing;
  }

  private async stop(): Promise<void> {
    this.closed.abort(new Error('The consumer was closed'));
    await Promise.all(
      this.workers.map(async (worker) => {
        // Otherwise a wait for the next job keeps the process alive until it times out.
        await (worker.getBackend() as { disconnectBlocking(): Promise<void> }).disconnectBlocking();
        await worker.close(true);
      }),
    );
  }
}

/** What the queue stores about a failed job: a code, no message, no stack, no path. */
function failure(code: string): Error {
  const error = new Error(code);
  error.stack = '';
  return error;
}

function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error('Aborted'));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work
      .then(() => resolve(), reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
      .catch(() => undefined);
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}
