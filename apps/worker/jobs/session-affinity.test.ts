import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { PutBack } from '#libs/backing/job-queue.js';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { silentLogger } from '#libs/logging/logger.js';
import { PostgresProcessRegistry } from '#libs/runs/processes/postgres-process-registry.js';
import { PostgresSessionLeases } from '#libs/runs/sessions/session-leases.js';
import { MapQueue } from '../../../test/support/map-queue.js';
import { someCall, someJob } from '../../../test/support/stored-rows.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import { SessionAffinity } from './session-affinity.js';

let testDatabase: TestDatabase;
let database: Database;
let queue: MapQueue;
const opened: TestSide[] = [];

beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  database = openDatabase({ url: testDatabase.url, poolSize: 5, timeoutMs: 5_000, applicationName: 'test' });
});
afterAll(async () => {
  await database?.close();
  await testDatabase?.drop();
});
beforeEach(async () => {
  await database.prisma.$executeRaw`truncate processes, session_leases`;
  queue = new MapQueue();
});
afterEach(() => Promise.all(opened.splice(0).map(({ registry }) => registry.close())));

interface TestSide {
  affinity: SessionAffinity;
  registry: PostgresProcessRegistry;
  leases: CountedLeases;
  /** Sessions whose servers were ended, in order. */
  closed: string[];
}

class CountedLeases extends PostgresSessionLeases {
  asked = 0;
  override take(...given: Parameters<PostgresSessionLeases['take']>) {
    this.asked += 1;
    return super.take(...given);
  }
}

async function openSide(workerId: string, idleTtlMs = 60_000): Promise<TestSide> {
  const registry = new PostgresProcessRegistry(database, { logger: silentLogger });
  await registry.register({ id: workerId, kind: 'worker', details: {} });
  const leases = new CountedLeases(database);
  const closed: string[] = [];
  const affinity = new SessionAffinity({
    workerId,
    leases,
    registry,
    queue,
    idleTtlMs: (server) => (server === 'own' ? idleTtlMs : undefined),
    closeSession: async ({ sessionId }) => void closed.push(sessionId),
    logger: silentLogger,
  });
  const side = { affinity, registry, leases, closed };
  opened.push(side);
  return side;
}

const jobOf = (sessionId: string, server = 'own') => someJob(someCall({ sessionId, server }));

/** Runs a call; resolves with whether it ran here. */
async function ran({ affinity }: TestSide, job = jobOf('a')): Promise<boolean> {
  let here = false;
  await affinity.run(job, async () => {
    here = true;
  });
  return here;
}

/** A call that runs until it is told to end. */
function running({ affinity }: TestSide, job = jobOf('a')) {
  let end!: () => void;
  const held = new Promise<void>((resolve) => (end = resolve));
  let begin!: () => void;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const ended = affinity.run(job, async () => {
    begin();
    await held;
  });
  return { begun, end: () => (end(), ended) };
}

verifies('tools.session-affinity', 'a worker without the session hands the call on', async () => {
  const [first, second] = [await openSide('w1'), await openSide('w2')];
  expect(await ran(first)).toBe(true);
  expect(await ran(first)).toBe(true);
  expect(first.leases.asked).toBe(1);
  const job = jobOf('a');
  expect(await ran(second, job)).toBe(false);
  expect(queue.workers.get(job.callId)).toBe('w1');
  expect(await ran(second, jobOf('b'))).toBe(true);
});

verifies('tools.stateless-anywhere', 'no lease is asked for', async () => {
  const side = await openSide('w1');
  expect(await ran(side, jobOf('a', 'shared'))).toBe(true);
  expect(side.leases.asked).toBe(0);
  expect(side.affinity.sessions).toBe(0);
});

verifies('reliability.idle-session-freed', 'its servers end first; not while a call runs', async () => {
  const [first, second] = [await openSide('w1', 20), await openSide('w2')];
  const call = running(first);
  await call.begun;
  expect(await ran(first)).toBe(true);
  await expect(ran(second)).resolves.toBe(false);
  await call.end();
  await expect.poll(() => first.affinity.sessions, { timeout: 5_000, interval: 10 }).toBe(0);
  expect(first.closed).toEqual(['a']);
  await expect.poll(() => ran(second), { timeout: 5_000, interval: 10 }).toBe(true);
});

verifies(
  'sessions.deleted-ends-servers',
  'an idle session is freed at once, a busy one with its last call',
  async () => {
    const [first, second] = [await openSide('w1'), await openSide('w2')];
    const call = running(first, jobOf('busy'));
    await call.begun;
    expect(await ran(first, jobOf('idle'))).toBe(true);
    for (const sessionId of ['idle', 'busy', 'unknown']) await first.affinity.end({ principal: 'local', sessionId });
    expect(first.closed).toEqual(['idle']);
    expect(await ran(second, jobOf('idle'))).toBe(true);
    await expect(ran(second, jobOf('busy'))).resolves.toBe(false);
    await call.end();
    await expect.poll(() => ran(second, jobOf('busy')), { timeout: 5_000, interval: 10 }).toBe(true);
    expect(first.closed).toEqual(['idle', 'busy']);
  },
);

verifies('reliability.session-moves-in-order', 'idle sessions at once, a busy one with its last call', async () => {
  const [first, second] = [await openSide('w1'), await openSide('w2')];
  const call = running(first, jobOf('busy'));
  await call.begun;
  expect(await ran(first, jobOf('idle'))).toBe(true);
  const [waiting, others] = [jobOf('busy'), jobOf('busy')];
  await queue.add(waiting, { worker: 'w1' });
  await queue.add(others, { worker: 'w2' });
  await first.registry.leave();
  await first.affinity.leave();
  expect([queue.workers.get(waiting.callId), queue.workers.get(others.callId)]).toEqual([undefined, 'w2']);
  expect(queue.jobs.has(waiting.callId)).toBe(true);
  expect(await ran(second, jobOf('idle'))).toBe(true);
  for (const side of [first, second]) await expect(ran(side, jobOf('busy'))).rejects.toThrow(PutBack);
  await call.end();
  await expect.poll(() => ran(second, jobOf('busy')).catch(() => false), { timeout: 5_000 }).toBe(true);
  expect(first.closed).toEqual(['idle', 'busy']);
});

verifies('reliability.session-taken-over', 'who was given up begins anew when the session comes back', async () => {
  const [first, second] = [await openSide('w1'), await openSide('w2')];
  expect(await ran(first)).toBe(true);
  // As if it had stood still: others gave it up, and it does not know since when.
  await first.leases.releaseAll('w1');
  let since: number | undefined;
  first.registry.heldSince = () => since;
  expect(await ran(second)).toBe(true);
  expect(await ran(first)).toBe(false);
  expect(first.closed).toEqual(['a']);
  await second.affinity.close();
  expect(await ran(first)).toBe(true);
  expect(first.closed).toEqual(['a']);
  // Asked again after a gap, and nobody had it meanwhile: its servers go on.
  since = performance.now();
  expect(await ran(first)).toBe(true);
  expect(first.closed).toEqual(['a']);
  const { asked } = first.leases;
  expect(await ran(first)).toBe(true);
  expect(first.leases.asked).toBe(asked);
});

test('a call that cannot be handed on now comes again', async () => {
  const [first, second] = [await openSide('w1'), await openSide('w2')];
  expect(await ran(first)).toBe(true);
  queue.away = true;
  await expect(ran(second)).rejects.toThrow(PutBack);
  queue.away = false;
  expect(await ran(second)).toBe(false);
});

test('a worker that is not among the living takes nothing', async () => {
  const side = await openSide('w1');
  await side.registry.close();
  await expect(ran(side)).rejects.toThrow(PutBack);
});
