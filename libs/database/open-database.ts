// The one way to PostgreSQL for the store: Prisma's client on a bounded pool. Every call through `call` ends within the
// deadline, with its value or with an AppError. Knows nothing of tables.
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { connectionConfig, type ConnectionSettings } from './connection-settings.js';
import { storeUnavailable, toDatabaseError } from './database-error.js';
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
const byIndex = '-c enable_seqscan=off';

export function openDatabase(settings: DatabaseSettings): Database {
  const connection = connectionConfig(settings);
  const pool = new pg.Pool({
    ...connection,
    options: `${connection.options} ${byIndex}`,
    max: settings.poolSize,
    idleTimeoutMillis: 60_000,
  });
  // A connection that breaks while nobody uses it is taken out of the pool; the next statement makes another.
  pool.on('error', () => undefined);
  const adapter = new PrismaPg(pool, { disposeExternalPool: true, statementNameGenerator: ({ sql }) => nameOf(sql) });
  const prisma = new PrismaClient({ adapter });
  let closing: Promise<void> | undefined;

  const call = async <T>(work: (prisma: PrismaClient) => Promise<T>, signal?: AbortSignal): Promise<T> => {
    if (closing !== undefined) throw storeUnavailable();
    signal?.throwIfAborted();
    return withDeadline(work(prisma), settings.timeoutMs, signal);
  };
  const query = async <Row extends object>(statement: string, parameters: readonly unknown[]): Promise<Row[]> => {
    const run = async () => (await pool.query<Row>({ name: nameOf(statement), text: statement }, [...parameters])).rows;
    if (closing !== undefined) throw storeUnavailable();
    return withDeadline(run(), settings.timeoutMs);
  };
  const close = async (): Promise<void> => {
    await prisma.$disconnect();
    // The adapter ends the pool only once it has connected.
    if (!pool.ending) await pool.end();
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

/** Our own statements begin with their name and are prepared once a connection; others are not kept. */
function nameOf(sql: string): string {
  return /^\s*\/\* ([a-z-]+(?:\.[a-z-]+)*) \*\//.exec(sql)?.[1] ?? '';
}

async function withDeadline<T>(work: Promise<T>, timeoutMs: number, signal?: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let abort: (() => void) | undefined;
  const cut = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(storeUnavailable(new Error('deadline'))), timeoutMs);
    abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([work, cut]);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw toDatabaseError(error);
  } finally {
    clearTimeout(timer);
    if (abort !== undefined) signal?.removeEventListener('abort', abort);
  }
}
