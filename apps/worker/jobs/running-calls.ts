// The calls that run in this worker, to cancel them by id. A cancel that arrives before its job is remembered.
import type { WorkerCall, StopReason } from './call.js';

const remembered = 10_000;

export class RunningCalls {
  private readonly running = new Map<string, WorkerCall>();
  /** Ids cancelled before their job arrived, oldest first. */
  private readonly cancelled = new Set<string>();
  /** Calls whose tool was started in this process, oldest first. */
  private readonly started = new Set<string>();

  get size(): number {
    return this.running.size;
  }

  has(callId: string): boolean {
    return this.running.has(callId);
  }

  wasCancelled(callId: string): boolean {
    return this.cancelled.has(callId);
  }

  wasStarted(callId: string): boolean {
    return this.started.has(callId);
  }

  begin(call: WorkerCall): void {
    this.running.set(call.job.callId, call);
  }

  markStarted(callId: string): void {
    remember(this.started, callId);
  }

  /** The tool was not started after all: the server refused the caller. */
  markUnstarted(callId: string): void {
    this.started.delete(callId);
  }

  end(callId: string): void {
    this.running.delete(callId);
  }

  cancel(callIds: readonly string[], reason: StopReason): void {
    for (const callId of callIds) {
      const call = this.running.get(callId);
      if (call === undefined) remember(this.cancelled, callId);
      else call.stop(reason);
    }
  }
}

function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  if (ids.size > remembered) ids.delete(ids.values().next().value!);
}
