import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { silentLogger, type LogFields } from '#libs/logging/logger.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import { announceDeleted } from './deleted-sessions.js';
import { PostgresProcessRegistry } from '../processes/postgres-process-registry.js';
import { PostgresSessionStore } from './postgres-session-store.js';
import { PostgresSessionLeases } from './session-leases.js';

const leased = { principal: 'local', sessionId: 'a' };
let testDatabase: TestDatabase;
let database: Database;
let leases: PostgresSessionLeases;

beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  database = openDatabase({ url: testDatabase.url, poolSize: 5, timeoutMs: 5_000, applicationName: 'test' });
  leases = new PostgresSessionLeases(database);
});
afterAll(async () => {
  await database?.close();
  await testDatabase?.drop();
});
beforeEach(() => database.prisma.$executeRaw`truncate processes, session_leases, sessions cascade`);

/** A store whose channel is connected to a listener of the test. */
function openStore(onMessage: (text: string) => void, endMs = 60_000) {
  const warned: LogFields[] = [];
  const logger = { ...silentLogger, warn: (fields: LogFields) => void warned.push(fields) };
  const channels = { publish: async (_channel: string, text: string) => onMessage(text) };
  const onDeleted = announceDeleted({ channels, leases, logger, endMs });
  return { store: new PostgresSessionStore(database, { idleTtlMs: 60_000, onDeleted }), warned };
}

async function takeLease() {
  const registry = new PostgresProcessRegistry(database, { logger: silentLogger });
  await registry.register({ id: 'worker-1', kind: 'worker', details: {} });
  return { registry, lease: (await leases.take(leased, 'worker-1'))! };
}

verifies('sessions.deleted-ends-servers', 'its worker is waited for, deleted or expired', async () => {
  const { registry, lease } = await takeLease();
  const order: string[] = [];
  let freeing: Promise<void> | undefined;
  let fence = lease.fence;
  const { store, warned } = openStore((text) => {
    order.push(text);
    freeing = leases.release(leased, fence).then(() => void order.push('freed'));
  });
  const { directory } = await store.ensure('local', 'a');
  await store.delete('local', 'a');
  order.push('deleted');
  fence = (await leases.take(leased, 'worker-1'))!.fence;
  const { directory: next } = await store.ensure('local', 'a');
  await database.prisma.$executeRaw`update sessions set expires_at = now() - interval '1 second'`;
  expect(await store.takeExpired(10)).toMatchObject([{ id: 'a', directory: next }]);
  order.push('taken');
  await freeing;
  const reported = (name: string) => JSON.stringify({ version: 1, principal: 'local', id: 'a', directory: name });
  expect(order).toEqual([reported(directory), 'freed', 'deleted', reported(next), 'freed', 'taken']);
  expect(warned).toEqual([]);
  await registry.close();
});

verifies(
  'sessions.deleted-ends-servers',
  'one that does not free it is waited for no longer than it may take',
  async () => {
    const { registry } = await takeLease();
    const { store, warned } = openStore(() => undefined, 50);
    await store.ensure('local', 'a');
    expect(await store.delete('local', 'a')).toMatchObject({ id: 'a' });
    expect(warned).toMatchObject([{ sessionId: 'a' }]);
    await registry.close();
  },
);

verifies('sessions.deleted-ends-servers', 'a worker that is dead is not waited for', async () => {
  const { registry } = await takeLease();
  await registry.close();
  await database.prisma.$executeRaw`insert into processes (id, kind, details, heartbeat_at)
    values ('worker-1', 'worker', '{}', now() - interval '7 seconds')
    on conflict (id) do update set heartbeat_at = excluded.heartbeat_at`;
  const { store, warned } = openStore(() => undefined);
  await store.ensure('local', 'a');
  await store.delete('local', 'a');
  expect(warned).toEqual([]);
});
