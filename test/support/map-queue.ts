// The queue at its simplest, for tests of who adds what: what was added is there, once; nothing is delivered.
import type { AddOptions, JobQueue } from '#libs/backing/job-queue.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';

export class MapQueue implements JobQueue {
  readonly jobs = new Map<string, ToolJob>();
  readonly added: string[] = [];
  /** Into whose own queue a job was put. */
  readonly workers = new Map<string, string | undefined>();
  /** Nothing can be added. */
  away = false;
  async add(job: ToolJob, { worker }: Partial<AddOptions> = {}): Promise<void> {
    if (this.away) throw new AppError('store_unavailable', 'The queue is away');
    if (this.jobs.has(job.callId)) return;
    this.jobs.set(job.callId, job);
    this.workers.set(job.callId, worker);
    this.added.push(job.callId);
  }
  async existing(callIds: readonly string[]): Promise<Set<string>> {
    return new Set(callIds.filter((id) => this.jobs.has(id)));
  }
  async remove(callId: string): Promise<boolean> {
    return this.jobs.delete(callId);
  }
  async counts() {
    return { waiting: this.jobs.size, active: 0, oldestAgeMs: 0 };
  }
  async waitingFor(worker: string): Promise<ToolJob[]> {
    return [...this.jobs.values()].filter(({ callId }) => this.workers.get(callId) === worker);
  }
  async ownQueues(): Promise<string[]> {
    return [...new Set([...this.jobs.keys()].flatMap((callId) => this.workers.get(callId) ?? []))];
  }
  readonly forgotten: string[] = [];
  async forgetWorker(worker: string): Promise<void> {
    this.forgotten.push(worker);
  }
  async close(): Promise<void> {}
}
