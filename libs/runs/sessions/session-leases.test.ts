import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { silentLogger } from '#libs/logging/logger.js';
import { MapQueue } from '../../../test/support/map-queue.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import { PostgresProcessRegistry } from '../processes/postgres-process-registry.js';
import { Reaper } from '../processes/reaper.js';
import { PostgresSessionLeases } from './session-leases.js';

const workers = ['worker-1', 'worker-2', 'worker-3'];
const session = { principal: 'local', sessionId: 'a' };
let testDatabase: TestDatabase;
let database: Database;
let leases: PostgresSessionLeases;
let registries: PostgresProcessRegistry[];

beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  database = openDatabase({ url: testDatabase.url, poolSize: 8, timeoutMs: 5_000, applicationName: 'test' });
  leases = new PostgresSessionLeases(database);
});
afterAll(async () => {
  await database?.close();
  await testDatabase?.drop();
});
beforeEach(async () => {
  await database.prisma.$executeRaw`truncate processes, session_leases`;
  registries = workers.map(() => new PostgresProcessRegistry(database, { logger: silentLogger }));
  await Promise.all(
    registries.map((registry, at) => registry.register({ id: workers[at]!, kind: 'worker', details: {} })),
  );
});
afterEach(() => Promise.all(registries.map((registry) => registry.close())));

/** Backdates the worker's heartbeat beyond the life of a lease. */
async function fallSilent(worker: string): Promise<void> {
  const registry = registries[workers.indexOf(worker)]!;
  await registry.close();
  await database.prisma.$executeRaw`insert into processes (id, kind, details, heartbeat_at)
    values (${worker}, 'worker', '{}', now() - interval '7 seconds')`;
}

verifies('leases.one-worker', 'three workers ask for twenty sessions at once, many times each', async () => {
  const sessions = Array.from({ length: 20 }, (_, at) => ({ principal: `p${at % 2}`, sessionId: `s${at}` }));
  const asked = sessions.flatMap((each) => [...workers, ...workers].map((worker) => ({ each, worker })));
  const reported = await Promise.all(asked.map(({ each, worker }) => leases.take(each, worker)));
  for (const each of sessions) {
    const answers = reported
      .filter((_lease, at) => asked[at]!.each === each)
      .map((lease) => `${lease!.worker} ${lease!.fence}`);
    expect(new Set(answers).size).toBe(1);
  }
  expect(new Set(reported.map((lease) => lease!.fence)).size).toBe(sessions.length);
});

verifies('leases.one-worker', 'asked for while another is being given it', async () => {
  let asked: ReturnType<typeof leases.take> | undefined;
  await database.prisma.$transaction(async (transaction) => {
    await transaction.$executeRaw`insert into session_leases (principal, session_id, worker, fence)
      values ('local', 'a', 'worker-1', nextval('session_lease_fence'))`;
    asked = leases.take(session, 'worker-2');
    // Clears the snapshot of the statistics, which a transaction would keep.
    const waiting = () => transaction.$queryRaw`select 1 as waits from pg_stat_clear_snapshot(), pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database() and query like '%leases.take%'`;
    await expect.poll(waiting, { timeout: 4_000, interval: 20 }).toEqual([{ waits: 1 }]);
  });
  expect(await asked).toMatchObject({ worker: 'worker-1' });
  expect(await leases.take(session, 'worker-3')).toMatchObject({ worker: 'worker-1' });
});

verifies('leases.fence-grows', 'freed, taken over from the dead, from one that was reaped', async () => {
  const fences: bigint[] = [];
  const holder = async (worker: string) => {
    const lease = await leases.take(session, worker);
    expect(lease).toMatchObject({ worker, draining: false });
    fences.push(BigInt(lease!.fence));
    return lease!.fence;
  };
  const first = await holder('worker-1');
  expect(await leases.take(session, 'worker-1')).toMatchObject({ fence: first });
  await leases.release(session, first);
  const second = await holder('worker-2');
  // Too late: another worker holds the session by now.
  await leases.release(session, first);
  expect(await leases.take(session, 'worker-1')).toMatchObject({ worker: 'worker-2', fence: second });
  await fallSilent('worker-2');
  await holder('worker-1');
  await leases.releaseAll('worker-1');
  await holder('worker-3');
  expect(fences).toEqual([...fences].sort((left, right) => Number(left - right)));
  expect(new Set(fences).size).toBe(4);
});

verifies('leases.living-only', 'one that drains or is unknown takes nothing, and holds what it has', async () => {
  await leases.take(session, 'worker-1');
  await registries[0]!.leave();
  expect(await leases.take(session, 'worker-2')).toMatchObject({ worker: 'worker-1', draining: true });
  const other = { ...session, sessionId: 'b' };
  expect(await leases.take(other, 'worker-1')).toBeUndefined();
  expect(await leases.take(other, 'nobody')).toBeUndefined();
  const lease = await leases.take(other, 'worker-2');
  expect(lease!.expiresInMs).toBeGreaterThan(0);
  expect(lease!.expiresInMs).toBeLessThanOrEqual(6_000);
});

verifies('reaper.frees-sessions', 'five reapers, a dead worker with thirty sessions', async () => {
  const sessions = Array.from({ length: 30 }, (_, at) => ({ principal: 'local', sessionId: `s${at}` }));
  await Promise.all(sessions.map((each) => leases.take(each, 'worker-1')));
  const kept = await leases.take(session, 'worker-2');
  await fallSilent('worker-1');
  const queue = new MapQueue();
  const sweeps = Array.from({ length: 5 }, () => {
    const reaper = new Reaper({ database, queue, logger: silentLogger, publishOutcome: () => undefined, batch: 7 });
    Object.assign(reaper, { watchedSince: performance.now() - 60_000, lastSeen: performance.now() });
    return reaper.sweep(AbortSignal.timeout(30_000));
  });
  const found = (await Promise.all(sweeps)).flatMap(({ freed }) => freed);
  expect(found).toEqual(Array(30).fill('worker-1'));
  expect(queue.forgotten).toContain('worker-1');
  expect(await leases.take(session, 'worker-3')).toMatchObject({ worker: 'worker-2', fence: kept!.fence });
});

verifies('processes.beat-again', 'a statement that was stuck, and a long interval', async () => {
  const impatient = openDatabase({ url: testDatabase.url, poolSize: 2, timeoutMs: 300, applicationName: 'test' });
  let failures = 0;
  const logger = { ...silentLogger, warn: () => void failures++ };
  const registry = new PostgresProcessRegistry(impatient, { logger, intervalMs: 3_000 });
  await registry.register({ id: 'worker-5', kind: 'worker', details: {} });
  const [{ at }] = await database.prisma.$transaction(
    async (transaction) => {
      await transaction.$executeRaw`select id from processes where id = 'worker-5' for update`;
      await expect.poll(() => failures, { timeout: 8_000, interval: 20 }).toBe(1);
      return transaction.$queryRaw<[{ at: Date }]>`select clock_timestamp() as at`;
    },
    { timeout: 10_000 },
  );
  const beatAt = async () =>
    (await database.prisma.process.findUniqueOrThrow({ where: { id: 'worker-5' } })).heartbeatAt;
  await expect.poll(async () => (await beatAt()) > at, { timeout: 2_000, interval: 20 }).toBe(true);
  await registry.close();
  await impatient.close();
});

verifies('processes.stop-without-store', 'the row is left to its expiry, and that is logged', async () => {
  const gone = openDatabase({ url: testDatabase.url, poolSize: 1, timeoutMs: 5_000, applicationName: 'test' });
  const reported: string[] = [];
  const logger = { ...silentLogger, warn: (_fields: object, message: string) => void reported.push(message) };
  const registry = new PostgresProcessRegistry(gone, { logger });
  await registry.register({ id: 'worker-6', kind: 'worker', details: {} });
  await gone.close();
  await registry.close();
  expect(reported).toEqual([expect.stringContaining('until its heartbeat expires')]);
});

verifies('processes.lease-is-known', 'held without a gap, or not at all', async () => {
  const registry = new PostgresProcessRegistry(database, { logger: silentLogger, intervalMs: 20, expiryMs: 1_000 });
  expect(registry.heldSince()).toBeUndefined();
  await registry.register({ id: 'worker-4', kind: 'worker', details: {} });
  const since = registry.heldSince()!;
  expect(since).toBeLessThanOrEqual(performance.now());
  // A lock blocks the heartbeat for longer than a lease lives.
  await database.prisma.$transaction(async (transaction) => {
    await transaction.$executeRaw`select id from processes where id = 'worker-4' for update`;
    await expect.poll(() => registry.heldSince(), { timeout: 4_000, interval: 20 }).toBeUndefined();
  });
  await expect.poll(() => registry.heldSince(), { timeout: 5_000, interval: 20 }).toBeGreaterThan(since);
  await registry.close();
  expect(registry.heldSince()).toBeUndefined();
});
