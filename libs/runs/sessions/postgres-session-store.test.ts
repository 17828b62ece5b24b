import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { silentLogger } from '#libs/logging/logger.js';
import { noUsage } from '#libs/schemas/usage.js';
import { someCall, someOutcome, someRound, someRun } from '../../../test/support/stored-rows.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import { PostgresJournal } from '../postgres-journal.js';
import { PostgresProcessRegistry } from '../processes/postgres-process-registry.js';
import { PostgresRunStore } from '../postgres-run-store.js';
import { PostgresSessionStore } from './postgres-session-store.js';

const context = { requestId: 'req_1' };
const day = { idleTtlMs: 86_400_000 };

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  database = openDatabase({ url: testDatabase.url, poolSize: 8, timeoutMs: 5_000, applicationName: 'test' });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

describe('PostgresSessionStore', () => {
  const expire = (principal: string) =>
    database.prisma
      .$executeRaw`update sessions set expires_at = now() - interval '1 second' where principal = ${principal}`;

  verifies('sessions.one-directory', 'two hundred calls on four processes', async () => {
    const stores = Array.from({ length: 4 }, () => new PostgresSessionStore(database, day));
    const sessions = await Promise.all(
      Array.from({ length: 200 }, (_item, index) => stores[index % 4]!.ensure('one', `name-${index % 5}`)),
    );
    expect(new Set(sessions.map(({ directory }) => directory)).size).toBe(5);
    const other = await stores[0]!.ensure('another', 'name-0');
    expect(sessions.map(({ directory }) => directory)).not.toContain(other.directory);
    expect(other.directory).toMatch(/^[\da-f]{32}$/);
  });

  test('a known session is written once in some seconds, a renewed one lives on', async () => {
    const store = new PostgresSessionStore(database, { ...day, renewAfterMs: 60_000 });
    const first = await store.ensure('renewed', 'a', { metadata: { title: 'x' } });
    for (let count = 0; count < 100; count += 1)
      expect((await store.ensure('renewed', 'a')).usedAt).toEqual(first.usedAt);
    const eager = new PostgresSessionStore(database, { ...day, renewAfterMs: 0 });
    await expire('renewed');
    const renewed = await eager.ensure('renewed', 'a');
    expect(renewed).toMatchObject({ directory: first.directory, metadata: { title: 'x' } });
    expect(renewed.expiresAt.getTime()).toBeGreaterThan(renewed.usedAt.getTime());
    expect((await eager.ensure('renewed', 'a', { metadata: { title: 'y' } })).metadata).toEqual({ title: 'y' });
    expect(await eager.get('renewed', 'a')).toMatchObject({ metadata: { title: 'y' } });
    expect(await eager.get('other', 'a')).toBeUndefined();
  });

  test('a directory that is offered is taken by a new session only, and by one', async () => {
    const [one, other] = [1, 2].map(() => new PostgresSessionStore(database, day));
    const made = await one!.ensure('offered', 'a', { directory: 'born-here' });
    expect(made.directory).toBe('born-here');
    const known = await other!.ensure('offered', 'a', { directory: 'born-later' });
    expect(known.directory).toBe('born-here');
    await expect(other!.ensure('offered', 'b', { directory: 'born-here' })).rejects.toThrow();
    expect(await other!.get('offered', 'b')).toBeUndefined();
  });

  test('listed by pages, counted', async () => {
    const store = new PostgresSessionStore(database, day);
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => store.ensure('listed', id)));
    const first = await store.list('listed', { limit: 3 });
    expect(first.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect((await store.list('listed', { limit: 3, after: 'c' })).map(({ id }) => id)).toEqual(['d']);
    expect(await store.count()).toBeGreaterThanOrEqual(4);
  });

  verifies('sessions.not-taken-in-use', 'calls planned and dispatched, four sweepers', async () => {
    const store = new PostgresSessionStore(database, day);
    const journal = new PostgresJournal(database);
    const principal = 'swept';
    const ids = ['planned', 'dispatched', 'ended', 'client', 'idle'];
    await Promise.all(ids.map((id) => store.ensure(principal, id)));
    const calls = Object.fromEntries(
      ['planned', 'dispatched', 'ended', 'client'].map((id) => [
        id,
        someCall({ principal, sessionId: id, kind: id === 'client' ? 'client' : 'server' }),
      ]),
    );
    await Promise.all(Object.values(calls).map((call) => journal.plan(call, context)));
    const claim = await journal.claim({ callId: calls['dispatched']!.id, worker: 'worker-1' });
    await journal.end({ ...context, callId: calls['ended']!.id, outcome: someOutcome });
    expect(await store.takeExpired(10)).toEqual([]);
    await expire(principal);
    const stores = [1, 2, 3, 4].map(() => new PostgresSessionStore(database, day));
    const taken = (await Promise.all(stores.map((sweeper) => sweeper.takeExpired(10)))).flat();
    expect(taken.map(({ id }) => id).sort()).toEqual(['client', 'ended', 'idle']);
    await journal.end({ ...context, callId: calls['dispatched']!.id, fence: claim!.fence, outcome: someOutcome });
    expect((await store.takeExpired(10)).map(({ id }) => id)).toEqual(['dispatched']);
    const again = await stores[0]!.ensure(principal, 'idle');
    expect(taken.map(({ directory }) => directory)).not.toContain(again.directory);
  });

  verifies('sessions.delete-forgets-turns', 'but not what is under way, nor the audit', async () => {
    const store = new PostgresSessionStore(database, day);
    const runs = new PostgresRunStore(database);
    const journal = new PostgresJournal(database);
    await store.ensure('local', 'session-d');
    const [ended, running, elsewhere] = ['session-d', 'session-d', 'session-e'].map((sessionId) =>
      someRun({ sessionId }),
    );
    for (const run of [ended!, running!, elsewhere!]) await runs.begin(run);
    const client = someCall({ kind: 'client', sessionId: 'session-d' });
    const server = someCall({ sessionId: 'session-d' });
    await runs.planRound(someRound(ended!.id, { calls: [client, server] }), context);
    await journal.end({ ...context, callId: server.id, outcome: someOutcome });
    const active = someCall({ sessionId: 'session-d' });
    const direct = someCall({ sessionId: 'session-d' });
    await journal.plan(active, context);
    await journal.plan(direct, context);
    await journal.end({ ...context, callId: direct.id, outcome: someOutcome });
    for (const run of [ended!, elsewhere!]) await runs.end(run.id, 'gateway-1', { state: 'done', usage: noUsage });

    expect(await store.delete('other', 'session-d')).toBeUndefined();
    expect(await store.delete('local', 'session-d')).toMatchObject({ id: 'session-d' });
    expect(await store.delete('local', 'session-d')).toBeUndefined();
    expect(await runs.get('local', ended!.id)).toBeUndefined();
    expect(await runs.findByCalls('local', [client.id])).toEqual(new Map());
    for (const { id } of [client, server, direct]) expect(await journal.get(id)).toBeUndefined();
    expect(await runs.rounds(ended!.id)).toEqual([]);
    expect(await runs.get('local', running!.id)).toBeDefined();
    expect(await runs.get('local', elsewhere!.id)).toBeDefined();
    expect(await journal.end({ ...context, callId: active.id, outcome: someOutcome })).toBe(true);
    const callIds = [server.id, direct.id, active.id];
    expect(await database.prisma.auditEvent.count({ where: { callId: { in: callIds } } })).toBe(3);
  });
});

describe('PostgresProcessRegistry', () => {
  verifies('processes.heartbeats', 'by the database’s clock, until closed', async () => {
    const registry = new PostgresProcessRegistry(database, { logger: silentLogger, intervalMs: 50 });
    const info = { id: 'worker-1', kind: 'worker' as const, details: { version: '1', safe: true } };
    await registry.register(info);
    const seen = { ...info, draining: false, ageMs: expect.any(Number) as number };
    expect(await registry.alive('worker', 1_000)).toEqual([seen]);
    expect(await registry.alive('gateway', 1_000)).toEqual([]);
    const heartbeat = async () =>
      (await database.prisma.process.findUnique({ where: { id: 'worker-1' } }))?.heartbeatAt;
    await database.prisma.$executeRaw`update processes set heartbeat_at = now() - interval '1 hour'`;
    await expect.poll(heartbeat, { timeout: 5_000 }).toSatisfy((at: Date) => Date.now() - at.getTime() < 60_000);
    // Reaped by mistake, or during a stop: the registration is restored.
    await database.prisma.process.deleteMany();
    await expect.poll(() => registry.alive('worker', 1_000), { timeout: 5_000 }).toEqual([seen]);
    await registry.close();
    expect(await registry.alive('worker', 60_000)).toEqual([]);
    await registry.close();
  });

  verifies('processes.leaving-reported', 'at once; the row stays for whoever reaps its queue', async () => {
    const registry = new PostgresProcessRegistry(database, { logger: silentLogger });
    await registry.register({ id: 'worker-3', kind: 'worker', details: {} });
    await registry.leave();
    const left = [{ id: 'worker-3', draining: true }];
    expect(await registry.alive('worker', 6_000)).toMatchObject(left);
    await registry.close();
    expect(await registry.alive('worker', 6_000)).toMatchObject(left);
    await database.prisma.process.deleteMany();
  });

  test('a machine’s clock does not matter', async () => {
    const registry = new PostgresProcessRegistry(database, { logger: silentLogger });
    const now = Date.now;
    Date.now = () => now() + 3_600_000;
    try {
      await registry.register({ id: 'worker-2', kind: 'worker', details: {} });
      expect(await registry.alive('worker', 1_000)).toHaveLength(1);
    } finally {
      Date.now = now;
      await registry.close();
    }
  });
});
