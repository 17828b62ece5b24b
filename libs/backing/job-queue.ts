// The queue of tool jobs: it delivers, at least once; the journal decides who runs what.
// Contract (checked by test/contract/backing-conformance.ts): a job is added once per `callId` while it waits or runs;
// it is delivered again if its worker dies; ended jobs are not kept; nothing waits without a deadline.
import type { ToolJob } from '#libs/schemas/tool-job.js';

export interface JobQueue {
  /**
   * Adds a job under the id `job.callId`; while one with that id waits or runs, a second add does nothing. `worker`:
   * that worker's own queue. `again`: not the first job of its call, so it is delivered as `repeated`; after an attempt
   * that got no answer from the store, the next one sets it.
   * @throws AppError store_unavailable if the backing answers nothing for `silenceMs`. A slow one is waited for.
   */
  add(job: ToolJob, options: AddOptions): Promise<unknown>;
  /** The calls of these that wait or run. */
  existing(callIds: readonly string[], signal: AbortSignal): Promise<Set<string>>;
  /** Removes a waiting job for good; false if it runs, does not exist, or other calls in it still need it. */
  remove(callId: string, signal: AbortSignal): Promise<boolean>;
  counts(signal: AbortSignal): Promise<QueueCounts>;
  /** Jobs that wait in a worker's own queue; at most the first thousand. */
  waitingFor(worker: string, signal: AbortSignal): Promise<ToolJob[]>;
  /** The workers whose own queues hold jobs; may include some with an empty one. */
  ownQueues(signal: AbortSignal): Promise<string[]>;
  /** Removes a dead worker's own queue with all jobs in it. */
  forgetWorker(worker: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface AddOptions {
  signal: AbortSignal;
  /** Default: the backing's deadline. */
  silenceMs?: number;
  worker?: string | undefined;
  again?: boolean;
  /**
   * May share a job with others that are added at this moment: for calls that are quick and safe to deliver twice. The
   * job is then removed only when all calls in it are; other processes do not know the call by its own id; and a second
   * add of it is delivered too, as `repeated`.
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
  /** The job was added again, or put back with others, so the call may have ended. */
  repeated?: boolean;
}

export interface JobConsumer {
  /** Takes no new jobs; resolves when the running ones have ended, or rejects when `signal` aborts. */
  drain(signal: AbortSignal): Promise<void>;
  /** Stops at once; running jobs are delivered again later. */
  close(): Promise<void>;
}

/**
 * Handles a delivery. Resolving acknowledges the job; throwing `PutBack` returns it to the queue
 * (a version this worker does not support); any other error fails the job, and the journal's sweep decides about it.
 */
export type JobHandler = (delivery: JobDelivery) => Promise<void>;

export class PutBack extends Error {
  override readonly name = 'PutBack';
}
