// Calls that a dead gateway planned, and the gateway that continues their run executes.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { silentLogger } from '#libs/logging/logger.js';
import { MapQueue } from '../../../test/support/map-queue.js';
import { someCall, someJob, someOutcome, someRound, someRun } from '../../../test/support/stored-rows.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import { PostgresJournal } from '../postgres-journal.js';
import { PostgresProcessRegistry } from './postgres-process-registry.js';
import { PostgresRunStore } from '../postgres-run-store.js';
import { Reaper } from './reaper.js';

const context = { requestId: 'req_1' };

describe('calls that are taken up', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let journal: PostgresJournal;
  beforeAll(async () => {
    testDatabase = await createMigratedDatabase();
    database = openDatabase({ url: testDatabase.url, poolSize: 4, timeoutMs: 5_000, applicationName: 'test' });
    journal = new PostgresJournal(database);
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });

  verifies('journal.replanned', 'planned, claimed, ended', async () => {
    const call = someCall();
    await journal.plan(call, context);
    const job = { ...call.job!, replyTo: 'gateway-2', deadline: call.job!.queuedAt + 5_000 };
    await database.prisma
      .$executeRaw`update tool_calls set planned_at = now() - interval '1 hour' where id = ${call.id}`;
    expect(await journal.replan(job)).toBe(true);
    expect((await journal.get(call.id))?.job).toEqual(job);
    expect(await journal.plannedSinceMs(call.id)).toBeLessThan(60_000);
    const claim = await journal.claim({ callId: call.id, worker: 'worker-1' });
    expect(await journal.replan({ ...job, replyTo: 'gateway-3' })).toBe(false);
    await journal.end({ callId: call.id, fence: claim!.fence, outcome: someOutcome, ...context });
    expect(await journal.replan({ ...job, replyTo: 'gateway-3' })).toBe(false);
    expect((await journal.get(call.id))?.job).toEqual(job);
  });

  verifies('reaper.calls-of-resumable-runs', 'kept until the time of the turn is over, then cancelled', async () => {
    const registry = new PostgresProcessRegistry(database, { logger: silentLogger });
    await registry.register({ id: 'gateway-alive', kind: 'gateway', details: {} });
    const runs = new PostgresRunStore(database);
    const queue = new MapQueue();
    const sweep = () => {
      const reaper = new Reaper({ database, queue, logger: silentLogger, publishOutcome: () => {}, missingAfterMs: 0 });
      // A reaper that has already watched for the whole expiry.
      Object.assign(reaper, { watchedSince: performance.now() - 60_000, lastSeen: performance.now() });
      return reaper.sweep(AbortSignal.timeout(10_000));
    };
    const [keyed, plain, detached] = [
      someRun({ owner: 'gateway-dead', idempotencyKey: 'key' }),
      someRun({ owner: 'gateway-dead' }),
      someRun({ owner: 'gateway-dead', detached: true }),
    ];
    for (const run of [keyed, plain, detached]) await runs.begin(run);
    const calls = [keyed, plain, detached].map(() => {
      const call = someCall();
      return { ...call, job: { ...someJob(call), replyTo: 'gateway-dead' } };
    });
    const [kept, orphan, lone] = calls.map(({ id }) => id) as [string, string, string];
    await runs.planRound(someRound(keyed.id, { calls: [calls[0]!] }), context);
    await runs.planRound(someRound(plain.id, { calls: [calls[1]!] }), context);
    await runs.planRound(someRound(detached.id, { calls: [calls[2]!] }), context);
    const swept = await sweep();
    expect([swept.ended, swept.requeued]).toEqual([[orphan], []]);
    // Older than the call's time, and adopted: the gateway that continues the run decides about both.
    await database.prisma.$executeRaw`update tool_calls set planned_at = now() - interval '200 seconds'`;
    expect(await sweep()).toMatchObject({ ended: [], requeued: [] });
    expect(await runs.adopt(keyed.id, 'gateway-alive')).toBe(true);
    expect(await sweep()).toMatchObject({ ended: [], requeued: [] });
    expect((await journal.get(kept))?.state).toBe('planned');
    await database.prisma.$executeRaw`update runs set state = 'interrupted', ended_at = now() - interval '601 seconds'
      where id in (${keyed.id}, ${detached.id})`;
    expect((await sweep()).ended).toEqual([kept]);
    // A detached run goes on by itself, or fails.
    expect((await journal.get(lone))?.state).toBe('planned');
    await database.prisma.$executeRaw`update runs set state = 'failed' where id = ${detached.id}`;
    expect((await sweep()).ended).toEqual([lone]);
    const audits = await database.prisma.auditEvent.findMany({ where: { callId: kept } });
    expect(audits).toMatchObject([{ errorCode: 'cancelled' }]);
    await registry.close();
  });
});
