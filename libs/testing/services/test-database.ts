// A database of its own for a test file, empty or migrated, on the test run's PostgreSQL.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';
import { migrate } from '#libs/postgres/migrate.js';

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  const server = inject('postgresUrl');
  const name = `signalbox_test_${randomBytes(6).toString('hex')}`;
  await administer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => dropDatabase(server, name) };
}

export async function createMigratedDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  try {
    await migrate(database.url, { signal: AbortSignal.timeout(30_000) });
  } catch (error) {
    await database.drop();
    throw error;
  }
  return database;
}

/** insufficient_privilege */
const notPermitted = '42501';
const dropTries = 40;

/** An autovacuum that is just at work belongs to the superuser, whose processes we may not end: it is over soon. */
async function dropDatabase(server: string, name: string): Promise<void> {
  for (let left = dropTries; ; left -= 1) {
    try {
      return await administer(server, `drop database if exists ${name} with (force)`);
    } catch (error) {
      if ((error as { code?: string }).code !== notPermitted || left === 0) throw error;
      await pause(250);
    }
  }
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
