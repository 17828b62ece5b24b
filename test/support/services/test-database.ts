// A database of its own for a test file, empty or migrated, on the test run's PostgreSQL.
import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { createDatabase, dropDatabase } from './administer-databases.js';

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

export const createTestDatabase = (): Promise<TestDatabase> => create();

/** A copy of the one that the test run has migrated. */
export const createMigratedDatabase = (): Promise<TestDatabase> => create(inject('migratedDatabase'));

async function create(template?: string): Promise<TestDatabase> {
  const server = inject('postgresUrl');
  const name = `signalbox_test_${randomBytes(6).toString('hex')}`;
  const url = await createDatabase(server, name, template);
  return { url, drop: () => dropDatabase(server, name) };
}
