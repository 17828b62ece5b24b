// One PostgreSQL for a test run: the one named by TEST_POSTGRES_URL, else our own embedded one on a free port, in a
// directory that is removed with it, also when the run is killed. Every vitest project of the run shares it.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.js';

interface Shared {
  server: Promise<EmbeddedPostgres>;
  projects: number;
}

/** Each project loads this module anew: what they share hangs on the process. */
const shared = Symbol.for('signalbox.test-postgres');
const shelf = globalThis as { [shared]?: Shared };

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['TEST_POSTGRES_URL'];
  if (given !== undefined && given !== '') {
    project.provide('postgresUrl', given);
    return undefined;
  }
  const postgres = (shelf[shared] ??= { server: start(), projects: 0 });
  postgres.projects++;
  project.provide('postgresUrl', (await postgres.server).url);
  return async () => {
    if (--postgres.projects === 0) await (await postgres.server).stop();
  };
}

async function start(): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: await mkdtemp(join(tmpdir(), 'signalbox-test-')), disposable: true });
}

declare module 'vitest' {
  interface ProvidedContext {
    /** A database of a role that may create databases. */
    postgresUrl: string;
    /** The set of backing services that a whole Signalbox of a test uses; absent: PostgreSQL alone. */
    backing?: 'redis';
    /**
     * `part`: of suites that run on the other set too, only what depends on the set. `whole`: as long and as large as
     * they are meant to be. Absent: as much as `npm test` has time for.
     */
    extent?: 'part' | 'whole';
  }
}
