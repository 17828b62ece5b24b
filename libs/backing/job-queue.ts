// The queue of tool jobs: it delivers, at least once; the journal decides who runs what.
// Contract (held by test/contract/backing-conformance.ts): a job is added once per `callId` while it waits or runs; it is
// delivered again when its worker died; nothing is kept of an ended one; nothing waits without a deadline.
import type { ToolJob } from '#libs/schemas/tool-job.js';

export interface JobQueue {
  /**
   * Adds a job under the id `job.callId`; while one of that id waits or runs, a second add does nothing. `worker`: that
   * worker's own queue. `again`: not the first job of its call, so that it is delivered as `repeated`; a try that got no
   * answer of the store is followed by one of these.
   * @throws AppError store_unavailable when the backing answers nobody for `silenceMs`. One that is slow is waited for.
   */
  add(job: ToolJob, options: AddOptions): Promise<void>;
  /** Which of these wait or run. */
  existing(callIds: readonly string[], signal: AbortSignal): Promise<Set<string>>;
  /** Takes a waiting job out, for good; false when it runs, is not there, or others that went with it still need it. */
  remove(callId: string, signal: AbortSignal): Promise<boolean>;
  counts(signal: AbortSignal): Promise<QueueCounts>;
  /** What waits in a worker's own queue; of very many the first thousand. */
  waitingFor(worker: string, signal: AbortSignal): Promise<ToolJob[]>;
  /** The workers in whose own queues there is anything; perhaps some with an empty one. */
  ownQueues(signal: AbortSignal): Promise<string[]>;
  /** Removes a dead worker's own queue with every job that is still in it. */
  forgetWorker(worker: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface AddOptions {
  signal: AbortSignal;
  /** Absent: the backing's deadline. */
  silenceMs?: number;
  worker?: string;
  again?: boolean;
  /**
   * May share its place in the queue with others that are added at this moment: for calls that are quick, and safe to be
   * delivered twice. It is then taken out again only when all that went with it are, not known to other processes by its
   * own id, and a second add of it is delivered too, as `repeated`.
   */
  together?: boolean;
}

export interface QueueCounts {
  waiting: number;
  active: number;
  /** Age of the oldest waiting job, ms; 0 when none waits. */
  oldestAgeMs: number;
}

export interface JobDelivery {
  job: ToolJob;
  /** The queue has delivered this job before: its worker died or lost its lock. */
  redelivered: boolean;
  /** It was added again, or put back with others: it may have ended. */
  repeated?: boolean;
}

export interface JobConsumer {
  /** No new job is taken; resolves when those under way have ended, or rejects when `signal` aborts. */
  drain(signal: AbortSignal): Promise<void>;
  /** Stops at once; jobs under way are delivered again later. */
  close(): Promise<void>;
}

/**
 * What a consumer does with a delivery. Resolving acknowledges the job; throwing `PutBack` returns it to the queue
 * (a version this worker does not know); anything else thrown fails the job, which the journal's sweep then judges.
 */
export type JobHandler = (delivery: JobDelivery) => Promise<void>;

export class PutBack extends Error {
  override readonly name = 'PutBack';
}
