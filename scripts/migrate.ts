// `signalbox migrate`: applies missing migrations to the database and says which. With DATABASE_OWNER_URL it does so as the
// owner, and makes the roles of DATABASE_URL and DATABASE_READER_URL. `--wait 60` waits a minute for a database that is starting.
// Exit codes: 0 done, 1 the migrations and the database disagree, 2 not configured, 3 the database does not answer.
import { setTimeout as pause } from 'node:timers/promises';
import { openBacking } from '#libs/backing/open-backing.js';
import { databaseUrl } from '#libs/config/addresses/database-url.js';
import { ConfigError } from '#libs/config/config-error.js';
import { loadConfig } from '#libs/config/load-config.js';
import type { Config } from '#libs/config/schema.js';
import { grantRoles } from '#libs/postgres/database-roles.js';
import { migrate, MigrationError } from '#libs/postgres/migrate.js';
import { AppError } from '#libs/schemas/errors.js';
import { readArguments, UsageError } from './cli/usage-error.js';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(signal)));
try {
  const config = loadConfig();
  const applied = await migrateWhenThere(config.database.owner_url ?? databaseUrl(config));
  for (const name of applied) console.log(`applied ${name}`);
  if (config.database.owner_url !== undefined) await makeRoles(config, config.database.owner_url);
  console.log(applied.length === 0 ? 'Nothing to apply: the database is up to date.' : 'The database is up to date.');
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = exitCodeOf(error);
}

async function migrateWhenThere(url: string): Promise<string[]> {
  const deadline = performance.now() + waitSeconds() * 1_000;
  for (;;) {
    try {
      return (await migrate(url, { signal: stop.signal })).applied;
    } catch (error) {
      const isAway = error instanceof AppError && error.code === 'store_unavailable';
      if (!isAway || performance.now() > deadline) throw error;
      await pause(1_000, undefined, { signal: stop.signal });
    }
  }
}

function waitSeconds(): number {
  const { values } = readArguments('migrate', { options: { wait: { type: 'string', default: '0' } } });
  if (/^\d{1,4}$/.test(values.wait)) return Number(values.wait);
  throw new UsageError('--wait must be a number of seconds', 'migrate');
}

async function makeRoles(config: Config, ownerUrl: string): Promise<void> {
  const { reader_url: readerUrl } = config.database;
  // The tables of queue and counters too: the role of the application could not make them.
  if (config.redis.url === undefined) await (await openBacking({ databaseUrl: ownerUrl })).close();
  const roles = await grantRoles(ownerUrl, { applicationUrl: databaseUrl(config), readerUrl });
  for (const name of roles) console.log(`role ${name}`);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof ConfigError || error instanceof UsageError) return 2;
  return error instanceof MigrationError || stop.signal.aborted ? 1 : 3;
}
