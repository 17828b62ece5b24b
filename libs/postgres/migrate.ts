// Migrates the database to the state that this version needs. Uses Prisma's ledger and advisory lock, so that it is
// compatible with `prisma migrate deploy`. Applies all missing migrations or none; never goes back.
import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { AppError } from '#libs/schemas/errors.js';
import { clientConfig } from './connection.js';
import { ConfigError } from '#libs/config/config-error.js';
import { installedPath } from '#libs/process/find-installed.js';
import { sqlStateOf } from '#libs/store-error/store-error.js';
import { toConnectError, toDatabaseError } from './postgres-error.js';

/** The lock of `prisma migrate`, so that the two wait for each other. */
export const migrationLock = 72_707_369;
/** SQLSTATE: since PostgreSQL 15, not every user may create tables. */
export const notAllowed = '42501';

/** The migrations and the database disagree, and a person must intervene. The message names the migration. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

export interface MigrateOptions {
  signal: AbortSignal;
  /** The directory of the migrations; default: the package's own. */
  directory?: string;
}

/** Limits connecting, and waiting for another process that migrates. */
const timeoutMs = 60_000;

interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

/**
 * @throws MigrationError if an applied migration was changed, is only partly applied, or fails.
 * @throws ConfigError if the database refuses us: wrong password, unknown database.
 * @throws AppError store_unavailable if the database does not answer.
 */
export async function migrate(databaseUrl: string, options: MigrateOptions): Promise<{ applied: string[] }> {
  const { signal, directory = installedPath('prisma/migrations') } = options;
  signal.throwIfAborted();
  const migrations = await readMigrations(directory);
  const client = new pg.Client(clientConfig({ url: databaseUrl, timeoutMs, applicationName: 'signalbox migrate' }));
  client.on('error', () => undefined);
  // Ending the connection aborts the transaction: the server rolls back.
  const abort = () => void client.end().catch(() => undefined);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await client.connect().catch((error: unknown) => {
      throw toConnectError(error, databaseUrl);
    });
    // A user who may only read the ledger has nothing to do when nothing is missing.
    if (await isUpToDate(client, migrations)) return { applied: [] };
    return { applied: await applyMissing(client, migrations) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof MigrationError || error instanceof ConfigError) throw error;
    if (sqlStateOf(error) === notAllowed) throw mayNotMigrate();
    throw toDatabaseError(error);
  } finally {
    signal.removeEventListener('abort', abort);
    await client.end().catch(() => undefined);
  }
}

function mayNotMigrate(): ConfigError {
  const message =
    'migrations are missing: run `npx signalbox migrate` as the owner of the tables. This user may not create tables in its schema (42501)';
  return new ConfigError([{ key: 'DATABASE_URL', message }]);
}

async function isUpToDate(client: pg.Client, migrations: readonly Migration[]): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    `select to_regclass('_prisma_migrations') is not null as found`,
  );
  if (rows[0]?.found !== true) return false;
  const ledger = await readLedger(client);
  return migrations.every(({ name, checksum }) => ledger.get(name) === checksum);
}

async function applyMissing(client: pg.Client, migrations: Migration[]): Promise<string[]> {
  await client.query('begin');
  await client.query(`set local lock_timeout = ${timeoutMs}`);
  await client.query('select pg_advisory_xact_lock($1)', [migrationLock]);
  await client.query(ledgerTable);
  const ledger = await readLedger(client);
  const applied: string[] = [];
  for (const migration of migrations) {
    const checksum = ledger.get(migration.name);
    if (checksum === undefined) {
      await apply(client, migration);
      applied.push(migration.name);
    } else if (checksum !== migration.checksum) {
      throw new MigrationError(
        `Migration ${migration.name} has changed since it was applied: restore the file, ` +
          'and put changes into a new migration',
      );
    }
  }
  await client.query('commit');
  return applied;
}

async function apply(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  const startedAt = new Date();
  try {
    await client.query(sql);
  } catch (error) {
    const failure = toDatabaseError(error);
    if (failure instanceof AppError && failure.code === 'store_unavailable') throw failure;
    throw new MigrationError(`Migration ${name} failed, nothing was changed: ${(error as Error).message}`, {
      cause: error,
    });
  }
  await client.query(
    `insert into _prisma_migrations (id, checksum, started_at, finished_at, migration_name, applied_steps_count)
     values ($1, $2, $3, clock_timestamp(), $4, 1)`,
    [randomUUID(), checksum, startedAt, name],
  );
}

/** Finished migrations. Unknown ones come from a newer version and are left alone. */
async function readLedger(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string; finished: boolean }>(
    `select migration_name as name, checksum, finished_at is not null as finished
     from _prisma_migrations where rolled_back_at is null order by started_at`,
  );
  const halfDone = rows.find((row) => !row.finished);
  if (halfDone !== undefined) {
    throw new MigrationError(
      `Migration ${halfDone.name} was not finished: repair the database, then \`prisma migrate resolve\``,
    );
  }
  return new Map(rows.map((row) => [row.name, row.checksum]));
}

/** Created exactly as by `prisma migrate`. */
const ledgerTable = `create table if not exists _prisma_migrations (
  id varchar(36) primary key not null,
  checksum varchar(64) not null,
  finished_at timestamptz,
  migration_name varchar(255) not null,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz not null default now(),
  applied_steps_count integer not null default 0
)`;

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const bytes = await readFile(join(directory, name, 'migration.sql'));
      return { name, sql: bytes.toString('utf8'), checksum: createHash('sha256').update(bytes).digest('hex') };
    }),
  );
}
