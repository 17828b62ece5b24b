// Adds jobs through BullMQ's Queue class. While a job waits or runs it is added once per id, unless it may be combined
// with others; batch jobs wait behind interactive ones.
import { Queue } from 'bullmq';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import type { AddOptions } from '../job-queue.js';
import type { BullmqSource } from './bullmq-source.js';
import { type Gathered, JobGatherer } from './gather-jobs.js';
import { commonQueueName, jobIdOf, workerQueueName } from './job-id.js';
import { readPayload, toJobPayload, type JobPayload } from './job-payload.js';
import { queueSettings } from './queue-settings.js';

type AnyQueue = Queue<JobPayload, void, string, JobPayload, void, string, never, unknown>;

export class JobAdder {
  private readonly queues = new Map<string, AnyQueue>();
  private readonly gatherer = new JobGatherer((gathered) => this.addGathered(gathered));

  constructor(
    private readonly source: BullmqSource,
    private readonly onError: (error: unknown) => void,
  ) {}

  add(job: ToolJob, { worker, again, together }: Omit<AddOptions, 'signal' | 'silenceMs'>): Promise<unknown> {
    const isFirst = again !== true;
    if (together === true && isFirst && worker === undefined && job.priority === 'interactive') {
      return this.gatherer.submit(job);
    }
    const queue = this.queue(worker === undefined ? commonQueueName : workerQueueName(worker));
    const priority = queueSettings.priority[job.priority];
    return queue.add(nameOf(job), isFirst ? toJobPayload(job) : { ...toJobPayload(job), again: true }, {
      jobId: jobIdOf(job.callId),
      ...(priority === 0 ? {} : { priority }),
    });
  }

  private addGathered({ id, jobs, texts }: Gathered): Promise<unknown> {
    const [first, ...more] = texts;
    const payload = { job: first!, ...(more.length === 0 ? {} : { more }) };
    return this.queue(commonQueueName).add(nameOf(jobs[0]!), payload, { jobId: id ?? jobIdOf(jobs[0]!.callId) });
  }

  /** The ids under which the queue may hold a call. */
  idsOf(callId: string): string[] {
    const carrier = this.gatherer.carrierOf(callId);
    return carrier === undefined ? [jobIdOf(callId)] : [jobIdOf(callId), carrier];
  }

  /** The jobs to remove for an abandoned call: its own, and a combined one that no other call needs. */
  idsToRemove(callId: string): string[] {
    const carrier = this.gatherer.giveUp(callId);
    return carrier === undefined ? [jobIdOf(callId)] : [jobIdOf(callId), carrier];
  }

  async waitingFor(worker: string): Promise<ToolJob[]> {
    const waiting = await this.queue(workerQueueName(worker)).getJobs(
      ['waiting', 'prioritized', 'delayed'],
      0,
      999,
      true,
    );
    return waiting.flatMap((job) => {
      const read = readPayload(job?.data);
      return read.kind === 'jobs' ? read.jobs : [];
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
    this.queues.clear();
  }

  private queue(name: string): AnyQueue {
    let queue = this.queues.get(name);
    if (queue === undefined) {
      queue = this.open(name);
      // Workers come and go; above the limit the oldest object is dropped. The common queue's is never the oldest:
      // it moves to the end with every use.
      if (this.queues.size >= queueSettings.maxQueueObjects) {
        const [oldest, object] = this.queues.entries().next().value!;
        this.queues.delete(oldest);
        object.close().catch(this.onError);
      }
    } else {
      this.queues.delete(name);
    }
    this.queues.set(name, queue);
    return queue;
  }

  private open(name: string): AnyQueue {
    const queue = new Queue(
      name,
      {
        connection: {},
        defaultJobOptions: { attempts: 1 },
        streams: { events: { maxLen: queueSettings.maxEvents } },
      },
      this.source.factory,
    ) as unknown as AnyQueue;
    queue.on('error', this.onError);
    return queue;
  }
}

const nameOf = ({ tool }: ToolJob): string => tool.slice(0, 128);
