// Passes the jobs of the common queue and of the worker's own to one handler. Decides nothing about a call: it delivers,
// acknowledges, puts back and reports whether it delivered before.
import type { JobJson } from 'bullmq';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { type JobConsumer, type JobHandler, PutBack } from '../job-queue.js';
import type { BullmqSource } from './bullmq-source.js';
import { commonQueueName, workerQueueName } from './job-id.js';
import { readPayload } from './job-payload.js';
import { type JobEnd, QueueReader } from './queue-reader.js';
import { queueSettings } from './queue-settings.js';

export interface ToolConsumerOptions {
  worker: string;
  /** Concurrent jobs from each queue. */
  concurrency: number;
}

export class ToolConsumer implements JobConsumer {
  private readonly readers: QueueReader[];
  private draining: Promise<unknown> | undefined;
  private closing: Promise<unknown> | undefined;
  private readonly closed = new AbortController();

  constructor(
    source: BullmqSource,
    private readonly handler: JobHandler,
    private readonly logger: Logger,
    { worker, concurrency }: ToolConsumerOptions,
  ) {
    const queues = [commonQueueName, ...(worker === '' ? [] : [workerQueueName(worker)])];
    const deliver = (job: JobJson) => this.deliver(job);
    this.readers = queues.map((queue) => new QueueReader({ queue, worker, concurrency, source, deliver, logger }));
  }

  private async deliver({ data, stalledCounter, attemptsStarted }: JobJson): Promise<JobEnd> {
    const read = readPayload(JSON.parse(data));
    if (read.kind === 'invalid') return { failed: 'invalid_payload' };
    if (read.kind === 'unknown version') return putBack(attemptsStarted);
    const redelivered = stalledCounter > 0;
    // A call that was put back with others may have ended before.
    const repeated = read.again || (read.jobs.length > 1 && attemptsStarted > 1);
    const failures: { error: unknown; job: ToolJob }[] = [];
    const handled = read.jobs.map((job) =>
      this.handler({ job, redelivered, repeated }).catch((error: unknown) => {
        failures.push({ error, job });
      }),
    );
    await (handled.length === 1 ? handled[0] : Promise.all(handled));
    if (failures.some(({ error }) => error instanceof PutBack)) return putBack(attemptsStarted);
    for (const { error, job } of failures) {
      this.logger.error({ error, tool: job.tool, requestId: job.requestId }, 'A tool job failed');
    }
    const [first] = failures;
    if (first === undefined) return 'done';
    // The queue stores a code, no message, no stack, no path.
    return { failed: first.error instanceof AppError ? first.error.code : 'internal_error' };
  }

  drain(signal: AbortSignal): Promise<void> {
    this.draining ??= Promise.all(this.readers.map((reader) => reader.drain()));
    return untilAborted(this.draining, AbortSignal.any([signal, this.closed.signal]));
  }

  async close(): Promise<void> {
    this.closed.abort(new Error('The consumer was closed'));
    await (this.closing ??= Promise.all(this.readers.map((reader) => reader.close())));
  }
}

function putBack(attemptsStarted: number): JobEnd {
  if (attemptsStarted >= queueSettings.maxDeliveries) return { failed: 'put_back_too_often' };
  const { first, most } = queueSettings.putBackMs;
  return { delayMs: Math.min(most, first * 2 ** Math.min(attemptsStarted - 1, 10)) };
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
