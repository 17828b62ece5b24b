// The JobQueue on Redis: BullMQ adds jobs, scripts answer questions about many jobs.
import type { ToolJob } from '#libs/schemas/tool-job.js';
import type { BullmqSource } from '../bullmq/bullmq-source.js';
import { JobAdder } from '../bullmq/job-adder.js';
import { workerOfQueue, workerQueueName } from '../bullmq/job-id.js';
import type { AddOptions, JobQueue, QueueCounts } from '../job-queue.js';
import { retryWhileAway } from '../retry-while-away.js';
import { countJobs, existingJobs, forgetQueue, removeWaiting } from './job-scripts.js';
import { queueNamesKey } from './keys.js';
import type { RedisScript } from './redis-script.js';
import type { RedisStore } from './redis-store.js';

/** A script over the whole of a long list would block all other clients. */
const idsAtOnce = 500;

export class RedisJobQueue implements JobQueue {
  private readonly adder: JobAdder;

  constructor(
    private readonly store: RedisStore,
    source: BullmqSource,
    onError: (error: unknown) => void,
  ) {
    this.adder = new JobAdder(source, onError);
  }

  async add(
    job: ToolJob,
    { signal, silenceMs: timeoutMs = this.store.timeoutMs, ...options }: AddOptions,
  ): Promise<void> {
    const { worker } = options;
    await retryWhileAway(this.store, { timeoutMs, signal }, (isRetry) =>
      this.store.runRaw(async (client) => {
        // Sent before each job, since a server that lost its data must learn the queue again.
        const named = worker === undefined ? undefined : client.sadd(queueNamesKey, workerQueueName(worker));
        await Promise.all([named, this.adder.add(job, isRetry ? { ...options, again: true } : options)]);
      }),
    );
  }

  async existing(callIds: readonly string[], signal: AbortSignal): Promise<Set<string>> {
    const found = new Set<string>();
    for (let start = 0; start < callIds.length; start += idsAtOnce) {
      const ids = callIds.slice(start, start + idsAtOnce).flatMap((callId) => this.adder.idsOf(callId));
      for (const id of (await this.ask(existingJobs, ids, signal)) as string[]) found.add(id);
    }
    return new Set(callIds.filter((callId) => this.adder.idsOf(callId).some((id) => found.has(id))));
  }

  async remove(callId: string, signal: AbortSignal): Promise<boolean> {
    return ((await this.ask(removeWaiting, this.adder.idsToRemove(callId), signal)) as number) > 0;
  }

  async counts(signal: AbortSignal): Promise<QueueCounts> {
    const answer = await this.ask(countJobs, [], signal);
    const [waiting, active, oldest] = answer as [number, number, string];
    return { waiting, active, oldestAgeMs: oldest === '' ? 0 : Math.max(0, Date.now() - Number(oldest)) };
  }

  waitingFor(worker: string, signal: AbortSignal): Promise<ToolJob[]> {
    return this.store.run(() => this.adder.waitingFor(worker), signal);
  }

  async ownQueues(signal: AbortSignal): Promise<string[]> {
    const queues = await this.store.run((client) => client.smembers(queueNamesKey), signal);
    return queues.flatMap((queue) => workerOfQueue(queue) ?? []);
  }

  async forgetWorker(worker: string, signal: AbortSignal): Promise<void> {
    while ((await this.ask(forgetQueue, [workerQueueName(worker)], signal)) !== 0);
  }

  private ask(script: RedisScript, values: readonly string[], signal: AbortSignal): Promise<unknown> {
    return this.store.run((client) => script.run(client, [queueNamesKey], values), signal);
  }

  async close(): Promise<void> {
    await this.adder.close();
  }
}
