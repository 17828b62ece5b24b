// Heartbeats on PostgreSQL. All times are the database's own: a machine's clock may jump as it likes.
import type { Database } from '#libs/database/open-database.js';
import type { Logger } from '#libs/logging/logger.js';
import type { ProcessInfo, ProcessRegistry } from './process-registry.js';

export interface ProcessRegistryOptions {
  logger: Logger;
  /** Between heartbeats. */
  intervalMs?: number;
}

export class PostgresProcessRegistry implements ProcessRegistry {
  private readonly registered = new Map<string, ProcessInfo>();
  private readonly logger: Logger;
  private readonly intervalMs: number;
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    { logger, intervalMs = 2_000 }: ProcessRegistryOptions,
  ) {
    this.logger = logger;
    this.intervalMs = intervalMs;
  }

  async register(info: ProcessInfo): Promise<void> {
    await this.beat(info);
    this.registered.set(info.id, info);
    this.timer ??= setInterval(() => this.beatAll(), this.intervalMs).unref();
  }

  async alive(kind: 'gateway' | 'worker', withinMs: number): Promise<ProcessInfo[]> {
    const rows = await this.database.call(
      (prisma) => prisma.$queryRaw<{ id: string; details: ProcessInfo['details'] }[]>`/* processes.alive */
        select id, details from processes
        where kind = ${kind}
          and heartbeat_at > clock_timestamp() - ${withinMs}::float8 * interval '1 millisecond'
        order by id`,
    );
    return rows.map(({ id, details }) => ({ id, kind, details }));
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    this.timer = undefined;
    const ids = [...this.registered.keys()];
    this.registered.clear();
    // A beat under way would bring the row back.
    await this.beating;
    if (ids.length === 0) return;
    await this.database.call((prisma) => prisma.process.deleteMany({ where: { id: { in: ids } } }));
  }

  /** One round at a time: a slow database gets no pile of heartbeats. */
  private beatAll(): void {
    this.beating ??= Promise.all([...this.registered.values()].map((info) => this.beat(info)))
      .then(
        () => undefined,
        (error: unknown) => this.logger.warn({ error }, 'Heartbeat was not written'),
      )
      .finally(() => {
        this.beating = undefined;
      });
  }

  private async beat({ id, kind, details }: ProcessInfo): Promise<void> {
    await this.database.call(
      (prisma) => prisma.$executeRaw`/* processes.beat */
        insert into processes (id, kind, details, started_at, heartbeat_at)
        values (${id}, ${kind}, ${JSON.stringify(details)}::jsonb, clock_timestamp(), clock_timestamp())
        on conflict (id) do update set heartbeat_at = clock_timestamp(), details = excluded.details`,
    );
  }
}
