// The database for a command, also an embedded one, running or not. It is closed afterwards, and stopped if it was started.
import { startEmbeddedPostgres } from '#libs/embedded-postgres/embedded-postgres.js';
import { runningAddress } from '#libs/embedded-postgres/running-address.js';
import type { Config } from '#libs/config/schema.js';
import { migrate } from '#libs/postgres/migrate.js';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';

const migrationMs = 60_000;

export interface StoreSettings {
  applicationName: string;
  /** Of a statement; unless given, `database.timeout_ms`. */
  timeoutMs?: number;
}

/** @throws AppError store_unavailable, ConfigError, MigrationError */
export async function withStore<T>(
  config: Config,
  { applicationName, timeoutMs = config.database.timeout_ms }: StoreSettings,
  work: (database: Database, url: string) => Promise<T>,
): Promise<T> {
  return withDatabaseUrl(config, async (url) => {
    const database = openDatabase({ url, poolSize: 1, timeoutMs, applicationName });
    try {
      return await work(database, url);
    } finally {
      await database.close();
    }
  });
}

/** The address of the migrated database. @throws AppError store_unavailable, ConfigError, MigrationError; the signal's reason */
export async function withDatabaseUrl<T>(
  config: Config,
  work: (url: string) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const given = config.database.url ?? (await runningAddress(config.data_dir));
  const own = given === undefined ? await startEmbeddedPostgres({ dataDir: config.data_dir }) : undefined;
  const url = given ?? own!.url;
  try {
    const inTime = AbortSignal.timeout(migrationMs);
    await migrate(url, { signal: signal === undefined ? inTime : AbortSignal.any([signal, inTime]) });
    return await work(url);
  } finally {
    await own?.stop();
  }
}
