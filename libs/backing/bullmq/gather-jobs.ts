// Combines jobs that are added in one turn of the event loop into one: most of a job's cost is per job.
// The caller decides which may be combined: each may be delivered again with others if a queue's answer is lost.
import { randomBytes } from 'node:crypto';
import { Batch } from '#libs/concurrency/batch.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { storeUnavailable } from '#libs/store-error/store-error.js';
import { queueSettings } from './queue-settings.js';

interface NewJob {
  job: ToolJob;
  text: string;
}

/** A job of the queue: one call under its own id, or several under an id that is never reused. */
export interface Gathered {
  id?: string;
  jobs: readonly ToolJob[];
  texts: readonly string[];
}

interface Carrier {
  id: string;
  /** The calls of the job that were not abandoned. */
  wanted: Set<string>;
}

export class JobGatherer {
  /** The combined jobs of each call; oldest first. */
  private readonly carriers = new Map<string, Carrier>();

  private readonly batch: Batch<NewJob>;

  constructor(private readonly add: (gathered: Gathered) => Promise<unknown>) {
    const { maxJobs, maxBytes, maxWaiting } = queueSettings.together;
    this.batch = new Batch({
      flush: (together) => this.send(together).then(nothing),
      // Runs after everything that this turn of the event loop has triggered so far.
      schedule: process.nextTick,
      oneByOne: false,
      maxItems: maxJobs,
      maxSize: maxBytes,
      sizeOf: ({ text }) => Buffer.byteLength(text),
      // A job holds a call only once.
      fits: ({ job }, other) => job.callId !== other.job.callId,
      maxWaiting,
      refusal: () => storeUnavailable('Too many jobs wait for the queue'),
    });
  }

  submit(job: ToolJob): Promise<void> {
    return this.batch.submit({ job, text: JSON.stringify(job) });
  }

  /** The id under which the call waits or runs, if it is remembered. */
  carrierOf(callId: string): string | undefined {
    return this.carriers.get(callId)?.id;
  }

  /** Abandons the call. Returns the id of its job if all calls in that job are abandoned. */
  giveUp(callId: string): string | undefined {
    const carrier = this.carriers.get(callId);
    carrier?.wanted.delete(callId);
    return carrier?.wanted.size === 0 ? carrier.id : undefined;
  }

  private send(together: readonly NewJob[]): Promise<unknown> {
    const [jobs, texts] = [together.map(({ job }) => job), together.map(({ text }) => text)];
    if (together.length === 1) return this.add({ jobs, texts });
    const id = `together-${randomBytes(12).toString('hex')}`;
    this.remember(jobs, id);
    return this.add({ jobs, texts, id });
  }

  private remember(jobs: readonly ToolJob[], id: string): void {
    const carrier = { id, wanted: new Set(jobs.map(({ callId }) => callId)) };
    for (const { callId } of jobs) {
      this.carriers.delete(callId);
      this.carriers.set(callId, carrier);
    }
    const { maxRemembered } = queueSettings.together;
    for (const oldest of this.carriers.keys()) {
      if (this.carriers.size <= maxRemembered) break;
      this.carriers.delete(oldest);
    }
  }
}

const nothing = (): void => undefined;
