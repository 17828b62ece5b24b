// `npm run migrate`: applies missing migrations to DATABASE_URL and says which.
// Exit codes: 0 done, 1 the migrations and the database disagree, 2 not configured, 3 the database does not answer.
import { ConfigError } from '#libs/config/config-error.js';
import { databaseUrl } from '#libs/config/addresses/database-url.js';
import { loadConfig } from '#libs/config/load-config.js';
import { migrate, MigrationError } from '#libs/postgres/migrate.js';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(signal)));
try {
  const { applied } = await migrate(databaseUrl(loadConfig()), { signal: stop.signal });
  for (const name of applied) console.log(`applied ${name}`);
  console.log(applied.length === 0 ? 'Nothing to apply: the database is up to date.' : 'The database is up to date.');
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = exitCodeOf(error);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof ConfigError) return 2;
  return error instanceof MigrationError || stop.signal.aborted ? 1 : 3;
}
