// Routes calls of stateful servers to the worker that ran the session's last call. Routes are only a shortcut: the lease decides,
// and a worker without the lease forwards the job.
import type { ToolJob } from '#libs/schemas/tool-job.js';

export interface LivingWorkers {
  /** Whether the worker is certain to read its own queue. */
  takesJobs(worker: string): boolean;
}

/** How many sessions are remembered; calls of others go to the common queue. */
const maxRoutes = 10_000;

export class SessionRoutes {
  /** Worker by session, least recently used first. */
  private readonly workers = new Map<string, string>();

  constructor(
    private readonly living: LivingWorkers,
    private readonly limit = maxRoutes,
  ) {}

  get size(): number {
    return this.workers.size;
  }

  /** The worker for the job; undefined for the common queue. */
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

  /** Whether the worker still reads its own queue. */
  leadsTo(worker: string): boolean {
    return this.living.takesJobs(worker);
  }

  /** Notes that the worker that began the call has the session. */
  remember(job: ToolJob, worker: string): void {
    if (job.stateful !== true) return;
    const key = keyOf(job);
    this.workers.delete(key);
    this.workers.set(key, worker);
    if (this.workers.size > this.limit) this.workers.delete(this.workers.keys().next().value!);
  }
}

const keyOf = ({ principal, sessionId }: ToolJob): string => JSON.stringify([principal, sessionId]);
