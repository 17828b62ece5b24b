// Maintains the audit: makes checkpoints and future partitions, drops expired partitions, and verifies the latest rows. Runs
// in every gateway, but each task is done by one. Never changes a row.
import type { KeyObject } from 'node:crypto';
import type { ConnectionSettings } from '#libs/postgres/connection.js';
import type { Database } from '#libs/postgres/open-database.js';
import { PostgresPool } from '#libs/postgres/pool.js';
import { Prisma } from '#libs/postgres/prisma-client/client.js';
import type { Logger } from '#libs/logging/logger.js';
import { type ChainEnds, type Checkpoint, checkpointHash, signHash } from './checkpoint.js';
import { lastCheckpoint } from './stored-checkpoint.js';
import { verifyLatest } from './verify-audit.js';

export interface AuditKeeperOptions {
  database: Database;
  connection: ConnectionSettings;
  key?: KeyObject | undefined;
  retentionDays?: number | undefined;
  intervalMs?: number;
  verifyMs?: number;
  logger: Pick<Logger, 'warn' | 'info' | 'error'>;
}

interface Month {
  partition: string;
  until: Date;
  /** Whether we own the partition: only its owner can drop it. */
  own: boolean;
}

interface Ends {
  now: Date;
  heads: ChainEnds;
}

const longReads = { poolSize: 1, idleMs: 1_000, statementTimeoutMs: 600_000 };
/** How much `verify` reads: enough to detect a recent change, at a cost that does not grow with the audit. */
const latest = { rows: 2_000, checkpoints: 100 };
/** Partitions are made for this month and this many after it. */
const monthsAhead = 2;

export class AuditKeeper {
  private readonly stop = new AbortController();
  private readonly intervalMs: number;
  private timer: NodeJS.Timeout | undefined;
  private working: Promise<void> = Promise.resolve();
  private making: Promise<boolean> = Promise.resolve(false);
  private seen = 0n;
  private verifiedAt = -Infinity;
  private found: boolean | undefined;

  constructor(private readonly options: AuditKeeperOptions) {
    this.intervalMs = options.intervalMs ?? 30_000;
  }

  /**
   * Whether a changed row was found; undefined before the first `verify`. Stays true, since the row may be too old for the
   * next `verify`.
   */
  get isBroken(): boolean | undefined {
    return this.found;
  }

  /** Runs the first round at once, so that a new system has a checkpoint, then repeats rounds. */
  start(): void {
    this.working = this.round().finally(() => {
      if (this.stop.signal.aborted) return;
      this.timer = setTimeout(() => this.start(), this.intervalMs * (1 + Math.random() / 4)).unref();
    });
  }

  /** Makes a last checkpoint, so that a stopped system has one of all its rows. */
  async close(): Promise<void> {
    this.stop.abort();
    clearTimeout(this.timer);
    await this.working;
    await this.attempt('No checkpoint of the audit was made', () => this.checkpoint());
  }

  /** Runs all tasks that are due. A failed task is tried again in the next round. */
  async round(): Promise<void> {
    await this.attempt('A partition of the audit was not made', () => this.makePartitions());
    await this.attempt('No checkpoint of the audit was made', () => this.checkpoint());
    await this.attempt('Old rows of the audit were not dropped', () => this.dropExpired());
    await this.attempt('The latest rows of the audit were not verified', () => this.verify());
  }

  /** Verifies the latest rows and checkpoints every few minutes; `npm run audit -- verify` verifies all. */
  async verify(): Promise<void> {
    const { database, verifyMs = 300_000, logger } = this.options;
    if (performance.now() - this.verifiedAt < verifyMs) return;
    this.verifiedAt = performance.now();
    const { breaks, problems } = await verifyLatest(database, latest);
    const [first] = [...breaks.map(({ id, problem }) => `row ${id} ${problem}`), ...problems];
    this.found = this.found === true || first !== undefined;
    if (first === undefined) return;
    const metadata = { problem: first, problems: breaks.length + problems.length };
    logger.error({ metadata }, 'the audit is not as it was written: verify the whole (docs/runbooks.md#audit-broken)');
  }

  /** Makes a checkpoint if a chain has grown since the last one, one at a time. Resolves to whether it was made here. */
  checkpoint(): Promise<boolean> {
    return (this.making = this.making.catch(() => false).then(() => this.makeCheckpoint()));
  }

  private async makeCheckpoint(): Promise<boolean> {
    const last = await lastCheckpoint(this.options.database);
    if ((last?.number ?? 0n) < this.seen) {
      this.found = true;
      this.options.logger.error(
        { metadata: { seen: String(this.seen), last: String(last?.number ?? 0n) } },
        'checkpoints of the audit were removed',
      );
    }
    this.seen = last?.number ?? 0n;
    const { now, heads } = await this.readEnds();
    const unsigned = this.options.key !== undefined && last?.signature === null;
    if (last !== undefined && JSON.stringify(heads) === JSON.stringify(last.heads) && !unsigned) return false;
    const made = this.sign({ ...follow(last), at: now, heads, dropped: null });
    // Another gateway may have made the same checkpoint.
    const inserted = await this.options.database.call((prisma) =>
      prisma.auditCheckpoint.createMany({ data: [made], skipDuplicates: true }),
    );
    if (inserted.count > 0) this.seen = made.number;
    return inserted.count > 0;
  }

  async makePartitions(): Promise<void> {
    const { database } = this.options;
    await database.query(
      `/* audit.partitions */ select audit_make_partition(month) from (
         select now() + n * interval '1 month' as month from generate_series(0, $1::int) n
         union select distinct date_trunc('month', at) from audit_events_default) as months`,
      [monthsAhead],
    );
  }

  /** Drops each expired month, with a checkpoint of where the chains continue. */
  async dropExpired(): Promise<void> {
    const { database, retentionDays, logger } = this.options;
    if (retentionDays === undefined) return;
    const expired = await database.query<Month>(
      `/* audit.expired */ select * from (
         select relname as partition, pg_has_role(relowner, 'usage') as own,
           (to_date(right(relname, 7), 'YYYY_MM') + interval '1 month') at time zone 'UTC' as until
         from pg_inherits join pg_class on pg_class.oid = inhrelid
         where inhparent = 'audit_events'::regclass and relname ~ '^audit_events_\\d{4}_\\d{2}$') as months
       where until < now() - $1::int * interval '1 day' order by until`,
      [retentionDays],
    );
    for (const month of expired) {
      if (this.stop.signal.aborted) return;
      const { partition } = month;
      if (!month.own) {
        logger.warn(
          { metadata: { partition } },
          'a month of the audit has expired: the owner of the tables drops it with `npx signalbox audit prune`',
        );
        return;
      }
      await this.drop(month);
      logger.info({ metadata: { partition } }, 'a month of the audit was dropped');
    }
  }

  /** Older checkpoints are dropped too, since the new one replaces them. */
  private async drop({ partition, until }: Month): Promise<void> {
    const { database } = this.options;
    const ended = await this.lastRowsOf(partition);
    const last = await lastCheckpoint(database);
    const { now, heads } = await this.readEnds();
    const starts = { ...last?.starts };
    for (const [chain, end] of Object.entries(ended)) {
      if (BigInt(end[0]) > BigInt(starts[chain]?.[0] ?? 0)) starts[chain] = end;
    }
    const made = this.sign({ ...follow(last), at: now, heads, starts, dropped: partition });
    await database.call((prisma) =>
      prisma.$transaction([
        // Writers must not queue behind this transaction while it waits for a reader.
        prisma.$executeRaw`select set_config('lock_timeout', '500ms', true)`,
        prisma.auditCheckpoint.deleteMany({ where: { at: { lt: until } } }),
        prisma.auditCheckpoint.create({ data: made }),
        prisma.$executeRaw`drop table ${Prisma.raw(partition)}`,
      ]),
    );
    this.seen = made.number;
  }

  /** Reads the whole month on a connection of its own, which `close` cuts. */
  private async lastRowsOf(partition: string): Promise<ChainEnds> {
    const pool = new PostgresPool({ ...this.options.connection, ...longReads });
    const cut = () => void pool.close();
    this.stop.signal.addEventListener('abort', cut, { once: true });
    try {
      return await readLastRows(pool, partition);
    } finally {
      this.stop.signal.removeEventListener('abort', cut);
      await pool.close();
    }
  }

  private async readEnds(): Promise<Ends> {
    const [row] = await this.options.database.query<{ now: Date; heads: ChainEnds }>(
      `/* audit.heads */ select clock_timestamp()::timestamptz(3) as now, coalesce(json_object_agg(chain,
         json_build_array(position::text, encode(hash, 'hex')) order by chain), '{}') as heads
       from audit_chains where position > 0`,
      [],
    );
    return row!;
  }

  private sign(checkpoint: Checkpoint) {
    const hash = checkpointHash(checkpoint);
    const { key } = this.options;
    return {
      ...checkpoint,
      previousHash: new Uint8Array(checkpoint.previousHash),
      hash: new Uint8Array(hash),
      signature: key === undefined ? null : new Uint8Array(signHash(hash, key)),
    };
  }

  private async attempt(failed: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.options.logger.warn({ error }, failed);
    }
  }
}

async function readLastRows(pool: PostgresPool, partition: string): Promise<ChainEnds> {
  const { rows } = await pool.runRaw<{ chain: number; position: string; hash: string }>(
    `with ends as (select chain as c, max(position) as p from ${partition} group by chain)
     select chain, position, encode(hash, 'hex') as hash from ${partition} join ends on c = chain and p = position`,
    [],
  );
  return Object.fromEntries(rows.map(({ chain, position, hash }) => [chain, [position, hash]]));
}

/** The members of the next checkpoint that follow from the last. */
const follow = (last: (Checkpoint & { hash: Uint8Array }) | undefined) => ({
  number: (last?.number ?? 0n) + 1n,
  starts: last?.starts ?? {},
  previousHash: last?.hash ?? new Uint8Array(),
});
