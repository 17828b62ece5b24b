// Heartbeats on PostgreSQL. All times are the database's own: a machine's clock may jump.
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '#libs/postgres/open-database.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import {
  processExpiryMs,
  type ProcessInfo,
  type ProcessRegistry,
  type SeenProcess,
  type ShownProcess,
} from './process-registry.js';

export interface ProcessRegistryOptions {
  logger: Logger;
  /** Time between two heartbeats. */
  intervalMs?: number;
  /** After this time without a heartbeat, others may take over. */
  expiryMs?: number;
}

const registerPatienceMs = 15_000;

export class PostgresProcessRegistry implements ProcessRegistry {
  private readonly registered = new Map<string, () => ProcessInfo>();
  private readonly others = new Map<string, number>();
  private readonly logger: Logger;
  private readonly intervalMs: number;
  private readonly expiryMs: number;
  private timer: NodeJS.Timeout | undefined;
  private again: NodeJS.Timeout | undefined;
  private failing = false;
  private beating: Promise<void> | undefined;
  private leaving = false;
  /** Start of the last fully written round of heartbeats, and of the first in the unbroken series up to it. */
  private held: { since: number; beatAt: number } | undefined;

  constructor(
    private readonly database: Database,
    { logger, intervalMs = 2_000, expiryMs = processExpiryMs }: ProcessRegistryOptions,
  ) {
    this.logger = logger;
    this.intervalMs = intervalMs;
    this.expiryMs = expiryMs;
  }

  /** A store that is busy or unavailable for a moment must not make a start fail. */
  async register(info: ProcessInfo): Promise<void> {
    const patientUntil = performance.now() + registerPatienceMs;
    let beatAt = performance.now();
    while (!(await this.firstBeat(info, patientUntil))) {
      await delay(this.intervalMs / 8);
      beatAt = performance.now();
    }
    this.registered.set(info.id, () => info);
    this.held ??= { since: beatAt, beatAt };
    this.timer ??= setInterval(() => void this.beatAll(), this.intervalMs).unref();
  }

  describe(id: string, details: () => ProcessInfo['details']): void {
    const info = this.registered.get(id);
    if (info !== undefined) this.registered.set(id, () => ({ ...info(), details: details() }));
  }

  async alive(kind: 'gateway' | 'worker', withinMs: number): Promise<SeenProcess[]> {
    const rows = await this.database.call(
      (prisma) => prisma.$queryRaw<Omit<SeenProcess, 'kind'>[]>`/* processes.alive */
        select id, details, draining,
          greatest(0, extract(epoch from statement_timestamp() - heartbeat_at) * 1000)::float8 as "ageMs"
        from processes
        where kind = ${kind}
          and heartbeat_at > statement_timestamp() - ${withinMs}::float8 * interval '1 millisecond'
        order by id`,
    );
    return rows.map(({ id, details, draining, ageMs }) => ({ id, kind, details, draining, ageMs }));
  }

  async shown(kind: 'gateway' | 'worker', withinMs: number): Promise<ShownProcess[]> {
    const rows = await this.database.call(
      (prisma) => prisma.$queryRaw<Omit<ShownProcess, 'kind'>[]>`/* processes.shown */
        select id, details, draining, started_at as "startedAt", gone_at is not null as "isGone",
          greatest(0, extract(epoch from statement_timestamp() - heartbeat_at) * 1000)::float8 as "ageMs"
        from processes
        where kind = ${kind} and (gone_at is not null
          or heartbeat_at > statement_timestamp() - ${withinMs}::float8 * interval '1 millisecond')
        order by started_at desc, id limit 1000`,
    );
    return rows.map((row) => ({ ...row, kind }));
  }

  peers(id: string): number {
    return this.others.get(id) ?? 0;
  }

  heldSince(): number | undefined {
    if (this.held === undefined || performance.now() - this.held.beatAt >= this.expiryMs) return undefined;
    return this.held.since;
  }

  async leave(): Promise<void> {
    this.leaving = true;
    // A write in progress may have been sent before.
    await this.beating;
    await Promise.all([...this.registered.values()].map((info) => this.beat(info())));
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    clearTimeout(this.again);
    this.timer = undefined;
    this.held = undefined;
    const ids = [...this.registered.keys()];
    this.registered.clear();
    // A heartbeat in progress would restore the row.
    await this.beating;
    if (ids.length === 0 || this.leaving) return;
    try {
      await this.database.call((prisma) => prisma.process.deleteMany({ where: { id: { in: ids } } }));
    } catch (error) {
      this.logger.warn({ error }, 'A stopping process stays registered until its heartbeat expires');
    }
  }

  /** One round at a time: heartbeats do not pile up on a slow database. */
  private beatAll(): Promise<void> {
    const beatAt = performance.now();
    this.beating ??= Promise.all([...this.registered.values()].map((info) => this.beat(info())))
      .then(
        () => {
          this.failing = false;
          this.hold(beatAt);
        },
        (error: unknown) => this.tryAgain(error),
      )
      .finally(() => {
        this.beating = undefined;
      });
    return this.beating;
  }

  /** Retries before the next interval: the write may have waited on a stuck connection while the others work. */
  private tryAgain(error: unknown): void {
    if (!this.failing) this.logger.warn({ error }, 'Heartbeat was not written');
    this.failing = true;
    if (this.timer === undefined) return;
    clearTimeout(this.again);
    this.again = setTimeout(() => void this.beatAll(), this.intervalMs / 8).unref();
  }

  /** After a gap the lease is new: another process may have taken over meanwhile. */
  private hold(beatAt: number): void {
    if (this.held === undefined) return;
    const unbroken = performance.now() - this.held.beatAt < this.expiryMs;
    this.held = { since: unbroken ? this.held.since : beatAt, beatAt };
  }

  private async firstBeat(info: ProcessInfo, patientUntil: number): Promise<boolean> {
    try {
      await this.beat(info);
      return true;
    } catch (error) {
      const away = error instanceof AppError && error.code === 'store_unavailable';
      if (!away || performance.now() > patientUntil) throw error;
      return false;
    }
  }

  private async beat({ id, kind, details }: ProcessInfo): Promise<void> {
    const [row] = await this.database.call(
      (prisma) => prisma.$queryRaw<{ others: number }[]>`/* processes.beat */
        with beaten as (
          insert into processes (id, kind, details, draining, started_at, heartbeat_at)
          values (${id}, ${kind}, ${JSON.stringify(details)}::jsonb, ${this.leaving}, clock_timestamp(), clock_timestamp())
          on conflict (id) do update set heartbeat_at = clock_timestamp(), details = excluded.details, gone_at = null,
            draining = processes.draining or excluded.draining)
        select count(*)::int as others from processes where kind = ${kind} and id <> ${id}
          and heartbeat_at > clock_timestamp() - ${this.expiryMs}::float8 * interval '1 millisecond'`,
    );
    this.others.set(id, row!.others);
  }
}
