// `npm run migrate`: applies missing migrations to DATABASE_URL and says which.
// Exit codes: 0 done, 1 the migrations and the database disagree, 2 not configured, 3 the database does not answer.
import { migrate, MigrationError } from '#libs/database/migrate.js';

const url = process.env['DATABASE_URL'];
if (url === undefined || !URL.canParse(url)) {
  console.error('Set DATABASE_URL to the URL of the PostgreSQL database to migrate.');
  process.exit(2);
}
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(signal)));
try {
  const { applied } = await migrate(url, { signal: stop.signal });
  for (const name of applied) console.log(`applied ${name}`);
  console.log(applied.length === 0 ? 'Nothing to apply: the database is up to date.' : 'The database is up to date.');
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = error instanceof MigrationError || stop.signal.aborted ? 1 : 3;
}
