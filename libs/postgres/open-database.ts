// The one way to PostgreSQL for the store: Prisma's client on a bounded pool. Every call through `call` ends within the
// deadline, with its value or with an AppError. Knows nothing of tables.
import { PrismaPg } from '@prisma/adapter-pg';
import { storeUnavailable, withinDeadline } from '#libs/store-error/store-error.js';
import type { ConnectionSettings } from './connection.js';
import { PostgresPool } from './pool.js';
import { toDatabaseError } from './postgres-error.js';
import { PrismaClient } from './prisma-client/client.js';

export interface DatabaseSettings extends ConnectionSettings {
  poolSize: number;
}

export interface Database {
  /** For `call` only: used directly, failures are Prisma's own. */
  readonly prisma: PrismaClient;
  readonly timeoutMs: number;
  /**
   * Runs `work`; its failures become AppErrors (store_unavailable for whatever a later try may heal).
   * A statement that ran into the deadline may have been committed.
   */
  call<T>(work: (prisma: PrismaClient) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * One of our own statements (it begins with its name, and is prepared under it) by the driver itself, on the
   * connections that Prisma's client uses: for what every call costs. Values are as the driver reads them: a bigint is
   * its digits. Fails as `call` does.
   */
  query<Row extends object>(statement: string, parameters: readonly unknown[]): Promise<Row[]>;
  ping(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/**
 * A statement's plan is kept for as long as its connection, and made when the tables may still be empty: then a scan looks
 * cheapest, and costs more with every row.
 */
const byIndex = { enable_seqscan: 'off' };

export function openDatabase(settings: DatabaseSettings): Database {
  // Rows of the audit that come without it are not chained (docs/adr/0010).
  const set = { ...settings.set, ...byIndex, 'signalbox.audit_writer': 'on' };
  const pool = new PostgresPool({ ...settings, set, idleMs: 60_000, nameOf });
  const adapter = new PrismaPg(pool.pool, { statementNameGenerator: ({ sql }) => nameOf(sql) });
  const prisma = new PrismaClient({ adapter });
  let closing: Promise<void> | undefined;

  const bounded = async <T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    try {
      if (closing !== undefined) throw storeUnavailable('The store is closed');
      return await withinDeadline(settings.timeoutMs, signal, work);
    } catch (error) {
      if (signal?.aborted) throw error;
      throw toDatabaseError(error);
    }
  };
  const call: Database['call'] = (work, signal) => bounded(() => work(prisma), signal);
  const query: Database['query'] = <Row extends object>(statement: string, parameters: readonly unknown[]) =>
    bounded(async () => (await pool.runRaw<Row>(statement, parameters)).rows);
  const close = async (): Promise<void> => {
    await prisma.$disconnect();
    await pool.close();
  };
  return {
    prisma,
    timeoutMs: settings.timeoutMs,
    call,
    query,
    ping: async (signal) => void (await call((prisma) => prisma.$queryRaw`select 1`, signal)),
    close: () => (closing ??= close()),
  };
}

/** Our own statements begin with their name and are prepared once for each connection; others are not prepared. */
function nameOf(sql: string): string {
  return /^\s*\/\* ([a-z-]+(?:\.[a-z-]+)*) \*\//.exec(sql)?.[1] ?? '';
}
