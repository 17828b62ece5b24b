// Keeps a session's stateful servers on one worker: leases the session before its first call runs here, forwards calls
// of sessions that other workers hold, and frees idle ones. Calls of shared servers do not pass through here.
import { PutBack, type JobQueue } from '#libs/backing/job-queue.js';
import type { Logger } from '#libs/logging/logger.js';
import type { ProcessRegistry } from '#libs/runs/processes/process-registry.js';
import type { SessionLease, SessionLeases, SessionName } from '#libs/runs/sessions/session-leases.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { isStoreAway } from '#libs/store-error/store-error.js';
import { KeyedLock } from '#libs/workspace/keyed-lock.js';
import { untilStoreAnswers } from './outcome-writer.js';

export interface SessionAffinityParts {
  workerId: string;
  leases: SessionLeases;
  registry: Pick<ProcessRegistry, 'heldSince'>;
  queue: JobQueue;
  /** How long a session is kept after its last call to this server, ms; undefined: server not bound to sessions. */
  idleTtlMs: (server: string) => number | undefined;
  /** Ends the session's own servers in this process; resolves when all have ended. */
  closeSession: (session: SessionName) => Promise<void>;
  logger: Logger;
}

/** A session that this worker holds. */
interface LeasedSession extends SessionName {
  fence: string;
  /** When the lease was requested, by `performance.now()`. */
  askedAt: number;
  calls: number;
  idleTtlMs: number;
  idle?: NodeJS.Timeout;
  /** The session was deleted; the lease is released after its last call. */
  over?: boolean;
}

/** Maximum number of sessions; above it the longest idle one is freed. */
const maxLeased = 10_000;
const queueTimeoutMs = 2_000;

export class SessionAffinity {
  /** The leased sessions, least recently used first. */
  private readonly leased = new Map<string, LeasedSession>();
  private readonly lock = new KeyedLock();
  private leaving = false;

  constructor(private readonly parts: SessionAffinityParts) {}

  get sessions(): number {
    return this.leased.size;
  }

  /**
   * Runs `work` if this worker holds the session; otherwise forwards the job to the worker that does.
   * @throws PutBack if neither is possible now; AppError store_unavailable
   */
  run(job: ToolJob, work: () => Promise<void>): Promise<void> {
    const idleTtlMs = this.parts.idleTtlMs(job.server);
    return idleTtlMs === undefined ? work() : this.runInSession(job, idleTtlMs, work);
  }

  private async runInSession(job: ToolJob, idleTtlMs: number, work: () => Promise<void>): Promise<void> {
    const leased = await this.lock.run(keyOf(job), undefined, () => this.take(job, idleTtlMs));
    if (leased === undefined) return;
    try {
      await work();
    } finally {
      leased.calls -= 1;
      this.rest(leased);
    }
  }

  /** The session was deleted: what this worker holds of it is freed once its running calls have ended. */
  async end(session: SessionName): Promise<void> {
    const leased = await this.lock.run(keyOf(session), undefined, async () => this.leased.get(keyOf(session)));
    if (leased === undefined) return;
    leased.over = true;
    await this.freeIdle(leased);
  }

  /** Takes no more sessions: idle ones are freed at once, the others when their last call has ended. */
  async leave(): Promise<void> {
    this.leaving = true;
    await Promise.all([...this.leased.values()].map((leased) => this.freeIdle(leased)));
    await this.handBack();
  }

  /** Moves jobs of this worker's own queue to the common queue. The journal adds lost ones again. */
  async handBack(): Promise<void> {
    const { queue, workerId, logger } = this.parts;
    try {
      const jobs = await queue.waitingFor(workerId, AbortSignal.timeout(queueTimeoutMs));
      for (const job of jobs) {
        const signal = AbortSignal.timeout(queueTimeoutMs);
        if (await queue.remove(job.callId, signal)) await queue.add(job, { signal, again: true });
      }
      if (jobs.length > 0) logger.info({ metadata: { jobs: jobs.length } }, 'waiting calls were handed back');
    } catch (error) {
      logger.warn({ error }, 'waiting calls could not be handed back: they are added again once this worker is gone');
    }
  }

  /** Frees all remaining sessions. */
  async close(): Promise<void> {
    this.leaving = true;
    for (const leased of this.leased.values()) clearTimeout(leased.idle);
    this.leased.clear();
    const { leases, workerId, logger } = this.parts;
    await leases
      .releaseAll(workerId)
      .catch((error: unknown) =>
        logger.warn({ error }, 'sessions could not be freed: they are freed when this worker expires'),
      );
  }

  /** Undefined: the job was forwarded to another worker. */
  private async take(job: ToolJob, idleTtlMs: number): Promise<LeasedSession | undefined> {
    if (this.leaving) throw new PutBack('this worker is stopping');
    const known = this.leased.get(keyOf(job));
    if (known !== undefined && this.isHeld(known)) return this.use(known, idleTtlMs);
    const { leases, workerId } = this.parts;
    const session = { principal: job.principal, sessionId: job.sessionId };
    const askedAt = performance.now();
    const lease = await untilStoreAnswers(() => leases.take(session, workerId), job.deadline);
    if (lease === undefined) throw new PutBack('this worker is not registered as running');
    // Another worker has had the session, so its servers here are outdated.
    if (known !== undefined && known.fence !== lease.fence) await this.lose(known);
    if (lease.worker !== workerId) return this.handOn(job, lease, askedAt);
    const leased = this.leased.get(keyOf(job)) ?? { ...session, fence: lease.fence, askedAt, calls: 0, idleTtlMs: 0 };
    leased.askedAt = askedAt;
    return this.use(leased, idleTtlMs);
  }

  private use(leased: LeasedSession, idleTtlMs: number): LeasedSession {
    clearTimeout(leased.idle);
    leased.calls += 1;
    leased.idleTtlMs = Math.max(leased.idleTtlMs, idleTtlMs);
    this.leased.delete(keyOf(leased));
    this.leased.set(keyOf(leased), leased);
    if (this.leased.size > maxLeased) {
      const oldest = [...this.leased.values()].find(({ calls }) => calls === 0);
      if (oldest !== undefined) void this.freeIdle(oldest);
    }
    return leased;
  }

  /** Whether the lease holds without asking the store: the registration has not lapsed since the lease was read. */
  private isHeld(leased: LeasedSession): boolean {
    const since = this.parts.registry.heldSince();
    return since !== undefined && leased.askedAt >= since;
  }

  private async handOn(
    job: ToolJob,
    { worker, draining, expiresInMs }: SessionLease,
    askedAt: number,
  ): Promise<undefined> {
    if (draining) throw new PutBack('the worker of the session is stopping');
    const { queue } = this.parts;
    const { callId } = job;
    try {
      await queue.add(job, { worker, again: true, signal: AbortSignal.timeout(queueTimeoutMs) });
    } catch (error) {
      // A failed job would wait until its gateway notices.
      throw isStoreAway(error) ? new PutBack('the queue does not answer') : error;
    }
    if (performance.now() < askedAt + expiresInMs) return undefined;
    // The other worker may have died meanwhile, and nobody reads the queue of a dead worker.
    await queue.remove(callId, AbortSignal.timeout(queueTimeoutMs));
    throw new PutBack('the worker of the session has sent no sign of life');
  }

  private rest(leased: LeasedSession): void {
    if (leased.calls > 0 || this.leased.get(keyOf(leased)) !== leased) return;
    if (this.leaving || leased.over === true) return void this.freeIdle(leased);
    leased.idle = setTimeout(() => void this.freeIdle(leased), leased.idleTtlMs).unref();
  }

  /** Ends the session's servers before another worker can start new ones. */
  private freeIdle(leased: LeasedSession): Promise<void> {
    return this.lock.run(keyOf(leased), undefined, async () => {
      if (leased.calls > 0 || this.leased.get(keyOf(leased)) !== leased) return;
      await this.lose(leased);
      try {
        await this.parts.leases.release(leased, leased.fence);
      } catch (error) {
        this.parts.logger.warn({ error }, 'a session could not be freed: its next call comes here again');
      }
    });
  }

  private async lose(leased: LeasedSession): Promise<void> {
    clearTimeout(leased.idle);
    this.leased.delete(keyOf(leased));
    await this.parts.closeSession(leased);
  }
}

const keyOf = ({ principal, sessionId }: SessionName): string => JSON.stringify([principal, sessionId]);
