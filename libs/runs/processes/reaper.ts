// Takes over the work of dead gateways and workers, and deletes what has expired. Runs in every process; concurrent
// reapers do each thing once. Gives up no process before it has itself watched for a whole expiry without a gap, so
// that a database outage, a changed clock or a suspended process does not look like the death of every process.
import type { JobQueue } from '#libs/backing/job-queue.js';
import type { Config } from '#libs/config/schema.js';
import type { Database } from '#libs/postgres/open-database.js';
import type { Logger } from '#libs/logging/logger.js';
import { toolJobSchema, type ToolJob } from '#libs/schemas/tool-job.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { outcomeMembers } from '../call-rows.js';
import { processExpiryMs } from './process-registry.js';
import * as statements from './reaper-statements.js';

const dayMs = 86_400_000;

export interface ReapedCall {
  callId: string;
  /** The gateway that waits for the call, if the call had a job. */
  replyTo?: string;
  outcome: ToolOutcome;
}

export interface ReaperOptions {
  database: Database;
  queue: JobQueue;
  logger: Logger;
  /** Notifies waiting gateways; a lost message is harmless, they also poll. Must not throw. */
  publishOutcome: (call: ReapedCall) => void;
  /** Time between sweeps; a random quarter is added, so that processes do not sweep together. */
  intervalMs?: number;
  /** A process without a heartbeat for this long is dead. */
  expiryMs?: number;
  /** A planned call whose gateway is dead is looked up in the queue after this time. */
  missingAfterMs?: number;
  /** An unclaimed call is given up this long after its time. */
  overdueAfterMs?: number;
  /** How much longer a call may wait with a living gateway, or for one that continues the run (`limits.turn_ms`). */
  turnMs?: number;
  /** `runs.event_ttl_ms` */
  eventTtlMs?: number;
  /** How long a run is kept after its end (`runs.retention_days`), and longer while its session is. */
  runTtlMs?: number;
  /** The same for a call outside of runs (`runs.idempotency_ttl_ms`). */
  callTtlMs?: number;
  /** `usage.retention_days` */
  usageDays?: number;
  /** Rows per statement. */
  batch?: number;
  /** False writes no audit rows (`audit.enabled`). */
  audit?: boolean;
}

/** The times of the reaper that are settings. */
export const reaperTimes = ({ runs, limits, usage }: Pick<Config, 'runs' | 'limits' | 'usage'>) => ({
  eventTtlMs: runs.event_ttl_ms,
  // A key that is valid finds its run.
  runTtlMs: Math.max(runs.retention_days * dayMs, runs.idempotency_ttl_ms),
  callTtlMs: runs.idempotency_ttl_ms,
  turnMs: limits.turn_ms,
  usageDays: usage.retention_days,
});

export interface Sweep {
  expired: string[];
  /** The worker of each session that was freed. */
  freed: string[];
  interrupted: string[];
  ended: string[];
  replanned: string[];
  requeued: string[];
}

interface Mark {
  at: string;
  id: string;
}

const start: Mark = { at: '-infinity', id: '' };
const maxBatches = 20;
/** How long people see a worker that is gone. */
const goneWorkersMs = 900_000;
/** More than a statement takes, less than the expiry of a heartbeat. */
const clockToleranceMs = 3_000;

const lostOutcome = failedOutcome(
  'indeterminate',
  'tool_outcome_unknown',
  'The worker stopped while the tool ran: it is unknown whether it took effect',
);
const wornOutcome = failedOutcome('failed', 'tool_crashed', 'Every worker that ran the tool stopped');
const orphanOutcome = failedOutcome('cancelled', 'cancelled', 'The run ended before the call began');
const overdueOutcome = failedOutcome('failed', 'tool_timeout', 'No worker took the call in time');

export class Reaper {
  private readonly options: Required<ReaperOptions>;
  private readonly stop = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> = Promise.resolve();
  private watchedSince: number | undefined;
  private lastSeen = 0;
  /** The database's clock, which heartbeats use, and ours when it was read. */
  private clocks: { database: number; ours: number } | undefined;
  private lookedAt: Mark = start;
  private readonly cleared = { runs: start, calls: start };

  constructor(options: ReaperOptions) {
    this.options = {
      intervalMs: 2_000,
      expiryMs: processExpiryMs,
      missingAfterMs: 5_000,
      overdueAfterMs: 30_000,
      turnMs: 600_000,
      eventTtlMs: 600_000,
      runTtlMs: 30 * dayMs,
      callTtlMs: dayMs,
      usageDays: 400,
      batch: 200,
      audit: true,
      ...options,
    };
  }

  /** Sweeps until `close`. */
  start(): void {
    if (this.timer !== undefined || this.stop.signal.aborted) return;
    const { intervalMs, logger } = this.options;
    this.timer = setTimeout(
      () => {
        this.sweeping = this.sweep(this.stop.signal)
          .then(
            () => undefined,
            (error: unknown) => {
              if (!this.stop.signal.aborted) logger.warn({ error }, 'The sweep for lost work failed');
            },
          )
          .finally(() => {
            this.timer = undefined;
            this.start();
          });
      },
      intervalMs * (1 + Math.random() / 4),
    ).unref();
  }

  async close(): Promise<void> {
    this.stop.abort(new Error('The reaper is closed'));
    clearTimeout(this.timer);
    await this.sweeping;
  }

  /** One full sweep. @throws AppError store_unavailable; what was done before that stays done. */
  async sweep(signal: AbortSignal): Promise<Sweep> {
    const found: Sweep = { expired: [], freed: [], interrupted: [], ended: [], replanned: [], requeued: [] };
    try {
      await this.compareClocks(signal);
    } catch (error) {
      // No process could write a heartbeat either: the watch starts again.
      this.watchedSince = undefined;
      throw error;
    }
    const watched = this.hasWatched();
    if (watched) await this.reap(found, signal);
    await this.requeueMissing(found, signal);
    await this.clear(signal);
    // The queue comes last: its outage must not block the work on the database.
    if (watched) await this.forgetStrayQueues(signal);
    const { logger } = this.options;
    const counts = Object.entries(found).map(([name, ids]) => [name, (ids as string[]).length] as const);
    if (counts.some(([, count]) => count > 0)) {
      logger.info({ metadata: Object.fromEntries(counts) }, 'Lost work was taken up');
    }
    return found;
  }

  /** A changed clock makes every heartbeat look old: the watch starts again. */
  private async compareClocks(signal: AbortSignal): Promise<void> {
    const ours = performance.now();
    const [row] = await this.query<{ now: number }>(statements.databaseClock, [], signal);
    const now = { database: row!.now, ours };
    const { clocks: last = now } = this;
    this.clocks = now;
    const apart = now.database - last.database - (now.ours - last.ours);
    if (Math.abs(apart) > clockToleranceMs) this.watchedSince = undefined;
  }

  private hasWatched(): boolean {
    const { expiryMs } = this.options;
    const now = performance.now();
    if (this.watchedSince === undefined || now - this.lastSeen > expiryMs) this.watchedSince = now;
    this.lastSeen = now;
    return now - this.watchedSince >= expiryMs;
  }

  private async reap(found: Sweep, signal: AbortSignal): Promise<void> {
    const { expiryMs, batch, overdueAfterMs, turnMs, queue } = this.options;
    // The queue is removed before the row: after a failure a later reaper must still find the row.
    for (const { id } of await this.query<{ id: string }>(statements.expiredWorkers, [expiryMs], signal)) {
      await queue.forgetWorker(id, signal);
    }
    const expired = await this.query<{ id: string; draining: boolean }>(
      statements.removeExpired,
      [expiryMs, goneWorkersMs],
      signal,
    );
    // A drained worker has ended cleanly: its registration stayed only for its queue.
    found.expired = expired.filter(({ draining }) => !draining).map(({ id }) => id);
    const freed = await this.inBatches<{ worker: string }>(statements.freeLeases, [expiryMs, batch], signal);
    found.freed = freed.map(({ worker }) => worker);
    const interrupted = await this.inBatches<{ id: string }>(statements.interruptRuns, [expiryMs, batch], signal);
    found.interrupted = interrupted.map(({ id }) => id);
    await this.endCalls(statements.judgeUnsafe, lostOutcome, { found, more: [expiryMs], signal });
    await this.endCalls(statements.judgeWorn, wornOutcome, { found, more: [expiryMs], signal });
    const replanned = await this.inBatches<{ id: string; job: unknown }>(
      statements.replanSafe,
      [expiryMs, batch],
      signal,
    );
    found.replanned = replanned.map(({ id }) => id);
    await this.addMissing(replanned, found, signal);
    await this.endCalls(statements.cancelOrphans, orphanOutcome, { found, more: [turnMs], signal });
    const overdue = [overdueAfterMs, turnMs, expiryMs];
    await this.endCalls(statements.giveUpOverdue, overdueOutcome, { found, more: overdue, signal });
  }

  /** A gateway that was suspended may add a job to the queue of a reaped worker: nothing would process it. */
  private async forgetStrayQueues(signal: AbortSignal): Promise<void> {
    const { queue, logger } = this.options;
    try {
      const workers = await queue.ownQueues(signal);
      if (workers.length === 0) return;
      const stray = await this.query<{ id: string }>(statements.unknownProcesses, [workers], signal);
      for (const { id } of stray) await queue.forgetWorker(id, signal);
    } catch (error) {
      logger.debug({ error }, 'queues of dead workers could not be removed');
    }
  }

  private async endCalls(
    statement: string,
    outcome: ToolOutcome,
    { found, more, signal }: { found: Sweep; more: readonly number[]; signal: AbortSignal },
  ): Promise<void> {
    const { audit, batch, publishOutcome } = this.options;
    const verdict = JSON.stringify([{ state: outcome.state, ...outcomeMembers(outcome) }]);
    const parameters = [verdict, audit, batch, ...more];
    for (const { id, job } of await this.inBatches<{ id: string; job: unknown }>(statement, parameters, signal)) {
      found.ended.push(id);
      const replyTo = readJob(job)?.replyTo;
      publishOutcome({ callId: id, outcome, ...(replyTo !== undefined && { replyTo }) });
    }
  }

  /** Checks part of the planned calls each time, so that a long queue is covered over several sweeps. */
  private async requeueMissing(found: Sweep, signal: AbortSignal): Promise<void> {
    const { missingAfterMs, batch, expiryMs, turnMs } = this.options;
    const rows = await this.query<{ id: string; job: unknown; planned_at: string }>(
      statements.plannedAfter,
      [missingAfterMs, batch, this.lookedAt.at, this.lookedAt.id, expiryMs, turnMs],
      signal,
    );
    const last = rows.at(-1);
    this.lookedAt = last === undefined || rows.length < batch ? start : { at: last.planned_at, id: last.id };
    await this.addMissing(rows, found, signal);
  }

  /** Adding twice is harmless: the queue identifies a job by its call. */
  private async addMissing(
    rows: readonly { id: string; job: unknown }[],
    found: Sweep,
    signal: AbortSignal,
  ): Promise<void> {
    if (rows.length === 0) return;
    const { queue } = this.options;
    const there = await queue.existing(
      rows.map(({ id }) => id),
      signal,
    );
    for (const { id, job: stored } of rows) {
      const job = readJob(stored);
      if (there.has(id) || job === undefined) continue;
      await queue.add(job, { signal, again: true });
      found.requeued.push(id);
    }
  }

  private async clear(signal: AbortSignal): Promise<void> {
    const { eventTtlMs, runTtlMs, callTtlMs, usageDays, batch } = this.options;
    await this.inBatches(statements.forgetEvents, [eventTtlMs, batch], signal);
    await this.inBatches(statements.forgetUsage, [usageDays, batch], signal);
    for (const [what, statement, ttlMs] of [
      ['runs', statements.forgetRuns, runTtlMs],
      ['calls', statements.forgetCalls, callTtlMs],
    ] as const) {
      const { at, id } = this.cleared[what];
      const [mark] = await this.query<{ ended_at: string; id: string }>(statement, [ttlMs, batch, at, id], signal);
      this.cleared[what] = mark === undefined ? start : { at: mark.ended_at, id: mark.id };
    }
  }

  private query<Row>(statement: string, parameters: unknown[], signal: AbortSignal): Promise<Row[]> {
    return this.options.database.call((prisma) => prisma.$queryRawUnsafe<Row[]>(statement, ...parameters), signal);
  }

  /** Repeats the statement until a batch is not full; after some batches the rest is left to the next sweep. */
  private async inBatches<Row>(statement: string, parameters: unknown[], signal: AbortSignal): Promise<Row[]> {
    const rows: Row[] = [];
    for (let count = 0; count < maxBatches; count += 1) {
      const written = await this.query<Row>(statement, parameters, signal);
      rows.push(...written);
      if (written.length < this.options.batch) break;
    }
    return rows;
  }
}

/** Undefined for calls without a job, and for jobs of an unknown version. */
function readJob(stored: unknown): ToolJob | undefined {
  return toolJobSchema.safeParse(stored).data;
}
