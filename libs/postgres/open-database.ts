// The store's access to PostgreSQL: Prisma's client on a bounded pool. Every use of `call` ends within the deadline, with a
// value or an AppError. Knows no tables.
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
  /** For use in `call` only: outside of `call`, failures are Prisma's own. */
  readonly prisma: PrismaClient;
  readonly timeoutMs: number;
  /**
   * Runs `work` and converts failures to AppErrors (store_unavailable if a retry may succeed).
   * A statement that hit the deadline may have been committed.
   */
  call<T>(work: (prisma: PrismaClient) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Runs one of our own statements (it begins with its name, and is prepared under it) directly on the driver, using the
   * connections of Prisma's client: for frequent operations. Values are as the driver returns them: a bigint is its digits.
   * Fails like `call`.
   */
  query<Row extends object>(statement: string, parameters: readonly unknown[]): Promise<Row[]>;
  ping(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/**
 * Plans are cached per connection, and may be made while tables are empty. A sequential scan then looks cheapest, but gets
 * slower with every row.
 */
const byIndex = { enable_seqscan: 'off' };

export function openDatabase(settings: DatabaseSettings): Database {
  // Audit rows that are written without this setting are not chained (docs/adr/0010).
  const set = { ...settings.set, ...byIndex, 'signalbox.audit_writer': 'on' };
  const pool = new PostgresPool({ ...settings, set, idleMs: 60_000, nameOf });
  const adapter = new PrismaPg(pool.pool, { statementNameGenerator: ({ sql }) => nameOf(sql) });
  const prisma = new PrismaClient({ adapter });
  let closing: Promise<void> | undefined;

  const bounded = <T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> =>
    closing === undefined
      ? withinDeadline(settings.timeoutMs, signal, work)
      : Promise.reject(storeUnavailable('The store is closed'));
  const failed = (error: unknown): never => {
    throw toDatabaseError(error);
  };
  const call: Database['call'] = (work, signal) =>
    bounded(() => work(prisma), signal).catch((error: unknown) => {
      throw signal?.aborted ? error : toDatabaseError(error);
    });
  const query: Database['query'] = <Row extends object>(statement: string, parameters: readonly unknown[]) =>
    bounded(() => pool.runRaw<Row>(statement, parameters)).then(({ rows }) => rows, failed);
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

/** Our own statements begin with their name and are prepared once per connection; others are not prepared. */
function nameOf(sql: string): string {
  return /^\s*\/\* ([a-z-]+(?:\.[a-z-]+)*) \*\//.exec(sql)?.[1] ?? '';
}
