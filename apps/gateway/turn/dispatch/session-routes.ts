// Where the calls of a session with stateful servers go: straight to the worker that ran the last one. Only a shortcut:
// the lease decides, and a worker that does not have the session hands its calls on.
import type { ToolJob } from '#libs/schemas/tool-job.js';

export interface LivingWorkers {
  /** Looks into its own queue, for certain. */
  takesJobs(worker: string): boolean;
}

/** Sessions that are remembered; others go by way of the common queue. */
const maxRoutes = 10_000;

export class SessionRoutes {
  /** Session to worker, least recently used first. */
  private readonly workers = new Map<string, string>();

  constructor(
    private readonly living: LivingWorkers,
    private readonly limit = maxRoutes,
  ) {}

  get size(): number {
    return this.workers.size;
  }

  /** Undefined: to the common queue. */
  of(job: ToolJob): string | undefined {
    if (job.stateful !== true) return undefined;
    const key = keyOf(job);
    const worker = this.workers.get(key);
    if (worker === undefined) return undefined;
    this.workers.delete(key);
    if (!this.living.takesJobs(worker)) return undefined;
    this.workers.set(key, worker);
    return worker;
  }

  /** Whether what was put into the worker's own queue is still looked for there. */
  leadsTo(worker: string): boolean {
    return this.living.takesJobs(worker);
  }

  /** The worker that began the call has its session. */
  remember(job: ToolJob, worker: string): void {
    if (job.stateful !== true) return;
    const key = keyOf(job);
    this.workers.delete(key);
    this.workers.set(key, worker);
    if (this.workers.size > this.limit) this.workers.delete(this.workers.keys().next().value!);
  }
}

const keyOf = ({ principal, sessionId }: ToolJob): string => JSON.stringify([principal, sessionId]);
