// One PostgreSQL for a test run: the one named by TEST_POSTGRES_URL, else our own embedded one on a free port, in a
// directory that is removed with it, also when the run is killed. Every vitest project of the run shares it, and the
// database in it that is migrated once: tests copy it.
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../libs/embedded-postgres/embedded-postgres.js';
import { migrate } from '../../libs/postgres/migrate.js';
import { createDatabase, dropDatabase } from './services/administer-databases.js';

interface Server {
  url: string;
  migrated: string;
  stop(): Promise<void>;
}

interface Shared {
  server: Promise<Server>;
  projects: number;
}

/** Each project loads this module anew: what they share hangs on the process. */
const shared = Symbol.for('signalbox.test-postgres');
const shelf = globalThis as { [shared]?: Shared };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = (shelf[shared] ??= { server: start(), projects: 0 });
  postgres.projects++;
  const { url, migrated } = await postgres.server;
  project.provide('postgresUrl', url);
  project.provide('migratedDatabase', migrated);
  return async () => {
    if (--postgres.projects === 0) await (await postgres.server).stop();
  };
}

async function start(): Promise<Server> {
  const given = process.env['TEST_POSTGRES_URL'];
  if (given !== undefined && given !== '') {
    const migrated = await createMigrated(given);
    return { url: given, migrated, stop: () => dropDatabase(given, migrated) };
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-test-'));
  const postgres = await startEmbeddedPostgres({ dataDir, disposable: true });
  return { url: postgres.url, migrated: await createMigrated(postgres.url), stop: () => postgres.stop() };
}

async function createMigrated(server: string): Promise<string> {
  const name = `signalbox_migrated_${randomBytes(6).toString('hex')}`;
  await migrate(await createDatabase(server, name), { signal: AbortSignal.timeout(30_000) });
  return name;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** A database of a role that may create databases. */
    postgresUrl: string;
    /** The name of a migrated database that nobody connects to. */
    migratedDatabase: string;
    /** The set of backing services that a whole Signalbox of a test uses; absent: PostgreSQL alone. */
    backing?: 'redis';
    /**
     * `part`: of suites that run on the other set too, only what depends on the set. `whole`: as long and as large as
     * they are meant to be. Absent: as much as `npm test` has time for.
     */
    extent?: 'part' | 'whole';
  }
}
