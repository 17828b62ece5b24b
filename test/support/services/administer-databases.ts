// Creates and drops databases of a PostgreSQL server.
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

/** @param template another database nobody is connected to, whose contents the new one has */
export async function createDatabase(server: string, name: string, template?: string): Promise<string> {
  await administer(server, `create database ${name}${template === undefined ? '' : ` template ${template}`}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** insufficient_privilege */
const notPermitted = '42501';
const dropTries = 40;

/** An autovacuum that is just at work belongs to the superuser, whose processes we may not end: it is over soon. */
export async function dropDatabase(server: string, name: string): Promise<void> {
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
