import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { silentLogger } from '#libs/logging/logger.js';
import { noUsage } from '#libs/schemas/usage.js';
import { eventually } from '../../../test/support/eventually.js';
import { MapQueue } from '../../../test/support/map-queue.js';
import { someCall, someJob, someOutcome, someRound, someRun } from '../../../test/support/stored-rows.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import { PostgresEventLog } from '../postgres-event-log.js';
import { PostgresJournal } from '../postgres-journal.js';
import { PostgresProcessRegistry } from './postgres-process-registry.js';
import { PostgresRunStore } from '../postgres-run-store.js';
import { PostgresSessionStore } from '../sessions/postgres-session-store.js';
import { Reaper, type ReapedCall, type ReaperOptions, type Sweep } from './reaper.js';

const context = { requestId: 'req_1' };
const signal = AbortSignal.timeout(60_000);

describe('Reaper', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let runs: PostgresRunStore;
  let journal: PostgresJournal;
  let registry: PostgresProcessRegistry;
  let queue: MapQueue;
  let published: ReapedCall[];
  beforeAll(async () => {
    testDatabase = await createMigratedDatabase();
    database = openDatabase({ url: testDatabase.url, poolSize: 10, timeoutMs: 5_000, applicationName: 'test' });
    runs = new PostgresRunStore(database);
    journal = new PostgresJournal(database);
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });
  beforeEach(async () => {
    await database.prisma
      .$executeRaw`truncate runs, run_rounds, tool_calls, run_events, audit_events, processes, sessions`;
    queue = new MapQueue();
    published = [];
    registry = new PostgresProcessRegistry(database, { logger: silentLogger });
    await registry.register({ id: 'gateway-alive', kind: 'gateway', details: {} });
    await registry.register({ id: 'worker-alive', kind: 'worker', details: {} });
  });
  afterEach(() => registry.close());

  const someReaper = (options: Partial<ReaperOptions> = {}) =>
    new Reaper({
      database,
      queue,
      logger: silentLogger,
      publishOutcome: (call) => void published.push(call),
      missingAfterMs: 0,
      ...options,
    });
  /** A reaper that has already watched for the whole expiry. */
  const watched = (options: Partial<ReaperOptions> = {}): Reaper => {
    const reaper = someReaper(options);
    Object.assign(reaper, { watchedSince: performance.now() - 60_000, lastSeen: performance.now() });
    return reaper;
  };
  const dead = async (id: string, kind: string): Promise<void> => {
    await database.prisma.$executeRaw`insert into processes (id, kind, details, heartbeat_at)
      values (${id}, ${kind}, '{}', now() - interval '7 seconds')
      on conflict (id) do update set heartbeat_at = excluded.heartbeat_at, gone_at = null`;
  };
  const begun = async (members = {}) => {
    const run = someRun({ owner: 'gateway-dead', ...members });
    await runs.begin(run);
    return run;
  };
  const dispatched = async (worker: string, members = {}) => {
    const call = someCall(members);
    await journal.plan(call, context);
    const claim = await journal.claim({ callId: call.id, worker });
    return { ...call, fence: claim!.fence };
  };
  const stateOf = async (id: string) => (await journal.get(id))?.state;
  const audits = (callIds: string[]) => database.prisma.auditEvent.findMany({ where: { callId: { in: callIds } } });
  const total = (sweeps: Sweep[], what: keyof Sweep) => sweeps.flatMap((sweep) => sweep[what]);

  verifies(
    'reaper.exactly-once',
    'five reapers, a dead gateway with forty runs, a dead worker with eighty calls',
    async () => {
      await dead('gateway-dead', 'gateway');
      await dead('worker-dead', 'worker');
      const orphaned = await Promise.all(Array.from({ length: 40 }, () => begun()));
      const planned = orphaned.map(() => someCall());
      await Promise.all(
        orphaned.map((run, index) => runs.planRound(someRound(run.id, { calls: [planned[index]!] }), context)),
      );
      const unsafe = await Promise.all(Array.from({ length: 40 }, () => dispatched('worker-dead')));
      const safe = await Promise.all(Array.from({ length: 40 }, () => dispatched('worker-dead', { safe: true })));
      const sweeps = await Promise.all([1, 2, 3, 4, 5].map(() => watched({ batch: 7 }).sweep(signal)));
      sweeps.push(await watched().sweep(signal));

      expect(total(sweeps, 'expired').sort()).toEqual(['gateway-dead', 'worker-dead']);
      expect(new Set(queue.forgotten)).toEqual(new Set(['worker-dead']));
      expect(total(sweeps, 'interrupted').sort()).toEqual(orphaned.map(({ id }) => id).sort());
      const ended = [...planned, ...unsafe].map(({ id }) => id).sort();
      expect(total(sweeps, 'ended').sort()).toEqual(ended);
      expect(published.map(({ callId }) => callId).sort()).toEqual(ended);
      expect((await audits(ended)).map(({ callId }) => callId ?? '').sort()).toEqual(ended);
      expect(total(sweeps, 'replanned').sort()).toEqual(safe.map(({ id }) => id).sort());
      expect(queue.added.filter((id) => safe.some((call) => call.id === id)).sort()).toEqual(
        safe.map(({ id }) => id).sort(),
      );
      expect(new Set(await Promise.all(planned.map(({ id }) => stateOf(id))))).toEqual(new Set(['cancelled']));
      expect(new Set(await Promise.all(unsafe.map(({ id }) => stateOf(id))))).toEqual(new Set(['indeterminate']));
    },
  );

  verifies('reaper.dead-gateway', 'running runs interrupted, dispatched calls finish', async () => {
    await dead('gateway-dead', 'gateway');
    const run = await begun();
    const alive = await begun({ owner: 'gateway-alive' });
    const ended = await begun();
    await runs.end(ended.id, 'gateway-dead', { state: 'done', usage: noUsage });
    const [first, second, third] = [someCall(), someCall(), someCall()];
    await runs.planRound(someRound(run.id, { calls: [first, second] }), context);
    await runs.planRound(someRound(alive.id, { calls: [third] }), context);
    const claim = await journal.claim({ callId: second.id, worker: 'worker-alive' });
    await watched().sweep(signal);
    expect((await runs.get('local', run.id))?.state).toBe('interrupted');
    expect((await runs.get('local', alive.id))?.state).toBe('running');
    expect((await runs.get('local', ended.id))?.state).toBe('done');
    expect(await stateOf(first.id)).toBe('cancelled');
    expect(await stateOf(third.id)).toBe('planned');
    expect(published).toMatchObject([{ callId: first.id, replyTo: 'gateway-1', outcome: { state: 'cancelled' } }]);
    expect(await journal.end({ ...context, callId: second.id, fence: claim!.fence, outcome: someOutcome })).toBe(true);
    const late = runs.planRound(someRound(run.id, { round: 2 }), context);
    await expect(late).rejects.toMatchObject({ code: 'shutting_down' });
  });

  verifies('reaper.late-outcome-refused', 'a stopped worker goes on after it was reaped', async () => {
    await dead('worker-dead', 'worker');
    const unsafe = await dispatched('worker-dead');
    const safe = await dispatched('worker-dead', { safe: true });
    await watched().sweep(signal);
    const late = ({ id: callId, fence }: { id: string; fence: string }) =>
      journal.end({ ...context, callId, fence, outcome: someOutcome });
    expect(await late(unsafe)).toBe(false);
    expect(await late(safe)).toBe(false);
    const next = await journal.claim({ callId: safe.id, worker: 'worker-alive' });
    expect(next?.attempt).toBe(2);
    expect(await late(safe)).toBe(false);
    expect(await late({ ...safe, fence: next!.fence })).toBe(true);
    expect(await audits([unsafe.id])).toMatchObject([{ errorCode: 'tool_outcome_unknown', worker: 'worker-dead' }]);
    expect(await audits([safe.id])).toMatchObject([{ success: true, attempt: 2 }]);
  });

  test('a safe call that three workers did not survive is given up', async () => {
    const call = await dispatched('worker-dead', { safe: true });
    for (const attempt of [2, 3]) {
      expect((await watched().sweep(signal)).replanned).toEqual([call.id]);
      expect((await journal.claim({ callId: call.id, worker: 'worker-dead' }))?.attempt).toBe(attempt);
    }
    expect(await watched().sweep(signal)).toMatchObject({ replanned: [], ended: [call.id] });
    expect(await audits([call.id])).toMatchObject([{ errorCode: 'tool_crashed', attempt: 3 }]);
  });

  verifies('reaper.missing-jobs', 'added again from the journal, in stretches, not too early', async () => {
    const calls = Array.from({ length: 25 }, () => someCall());
    await Promise.all(calls.map((call) => journal.plan(call, context)));
    const claimed = await dispatched('worker-alive');
    await queue.add(calls[0]!.job!);
    expect((await someReaper({ missingAfterMs: 60_000 }).sweep(signal)).requeued).toEqual([]);
    const reaper = someReaper({ batch: 10 });
    const sweeps = [await reaper.sweep(signal), await reaper.sweep(signal), await reaper.sweep(signal)];
    expect(sweeps.map(({ requeued }) => requeued.length).every((count) => count <= 10)).toBe(true);
    expect(total(sweeps, 'requeued').sort()).toEqual(
      calls
        .slice(1)
        .map(({ id }) => id)
        .sort(),
    );
    expect(queue.jobs.get(calls[1]!.id)).toEqual(calls[1]!.job);
    expect(queue.jobs.has(claimed.id)).toBe(false);
    // Starts over, so that jobs lost later are found too.
    await queue.remove(calls[3]!.id);
    const later = [await reaper.sweep(signal), await reaper.sweep(signal), await reaper.sweep(signal)];
    expect(total(later, 'requeued')).toEqual([calls[3]!.id]);
  });

  verifies('reaper.missing-jobs', 'only of gateways that are gone: a living one may hold it back', async () => {
    const callOf = (gateway: string) => {
      const call = someCall();
      return { ...call, job: { ...someJob(call), replyTo: gateway } };
    };
    await dead('gateway-dead', 'gateway');
    const [waits, lost] = [callOf('gateway-alive'), callOf('gateway-dead')];
    await Promise.all([waits, lost].map((call) => journal.plan(call, context)));
    expect((await someReaper().sweep(signal)).requeued).toEqual([lost.id]);
  });

  verifies('reaper.stray-queues', 'put there when the worker had been reaped', async () => {
    for (const worker of ['worker-reaped', 'worker-alive']) await queue.add(someJob(someCall()), { worker });
    await watched().sweep(signal);
    expect(queue.forgotten).toEqual(['worker-reaped']);
  });

  test('a call that nobody took in its time is ended; a gateway’s wrong clock does not matter', async () => {
    const call = someCall();
    const hourOff = Date.now() - 3_600_000;
    const skewed = { ...call, job: { ...someJob(call), queuedAt: hourOff, deadline: hourOff + 60_000 } };
    await journal.plan(skewed, context);
    expect((await watched().sweep(signal)).ended).toEqual([]);
    await database.prisma.$executeRaw`update tool_calls set planned_at = now() - interval '100 seconds'`;
    expect((await watched().sweep(signal)).ended).toEqual([call.id]);
    expect(await audits([call.id])).toMatchObject([{ errorCode: 'tool_timeout' }]);
  });

  verifies('reaper.held-back', 'behind other calls of its session, or for a place: as long as a turn', async () => {
    const call = someCall();
    await journal.plan({ ...call, job: { ...someJob(call), replyTo: 'gateway-alive' } }, context);
    const after = async (seconds: number) => {
      await database.prisma.$executeRaw`update tool_calls set planned_at = now() - ${seconds} * interval '1 second'`;
      return (await watched({ turnMs: 600_000 }).sweep(signal)).ended;
    };
    expect([await after(1_200), await after(1_300)]).toEqual([[], [call.id]]);
  });

  verifies('reaper.watches-first', 'a database that was away is nobody’s death', async () => {
    await dead('gateway-dead', 'gateway');
    const run = await begun();
    const reaper = someReaper({ expiryMs: 200 });
    expect(await reaper.sweep(signal)).toMatchObject({ expired: [], interrupted: [] });
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(await reaper.sweep(signal)).toMatchObject({ expired: [], interrupted: [] });
    // A gap longer than the expiry: the process was suspended, or the database unavailable. The watch starts again.
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(await reaper.sweep(signal)).toMatchObject({ expired: [], interrupted: [] });
    // On a busy machine any pause may become another gap.
    await eventually(async () => {
      await reaper.sweep(signal);
      return (await runs.get('local', run.id))?.state === 'interrupted';
    });
  });

  verifies('reaper.watches-first', 'the clock of the database is set by an hour', async () => {
    // Connections with this search path find it before the server's own function of that name.
    for (const statement of [
      'create schema set_clock',
      `create table set_clock.ahead as select interval '0' as by`,
      `create function set_clock.clock_timestamp() returns timestamptz language sql as
        'select pg_catalog.clock_timestamp() + by from set_clock.ahead'`,
    ]) {
      await database.prisma.$executeRawUnsafe(statement);
    }
    const url = new URL(testDatabase.url);
    url.searchParams.set('options', '-c search_path=set_clock,public,pg_catalog');
    const ahead = openDatabase({ url: url.href, poolSize: 2, timeoutMs: 5_000, applicationName: 'test' });
    try {
      const run = await begun({ owner: 'gateway-alive' });
      const reaper = watched({ database: ahead });
      expect(await reaper.sweep(signal)).toMatchObject({ expired: [] });
      await database.prisma.$executeRaw`update set_clock.ahead set by = interval '1 hour'`;
      expect(await reaper.sweep(signal)).toMatchObject({ expired: [], interrupted: [] });
      expect((await runs.get('local', run.id))?.state).toBe('running');
      // Proves that the fault works: a reaper that has not seen the clock before falls for it.
      expect((await watched({ database: ahead }).sweep(signal)).expired).toContain('gateway-alive');
    } finally {
      await ahead.close();
    }
  });

  test('it sweeps by itself until it is closed', async () => {
    await dead('worker-dead', 'worker');
    const call = await dispatched('worker-dead');
    const reaper = watched({ intervalMs: 20 });
    reaper.start();
    await expect.poll(() => stateOf(call.id), { timeout: 5_000 }).toBe('indeterminate');
    await reaper.close();
    const other = await dispatched('worker-dead');
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(await stateOf(other.id)).toBe('dispatched');
  });

  verifies('reaper.clears-what-is-old', 'events, then runs and calls whose session is gone', async () => {
    const events = new PostgresEventLog(database);
    const sessions = new PostgresSessionStore(database, { idleTtlMs: 86_400_000 });
    await sessions.ensure('local', 'kept');
    const [running, fresh, old, kept] = [
      await begun({ owner: 'gateway-alive' }),
      await begun(),
      await begun(),
      await begun({ sessionId: 'kept' }),
    ];
    for (const run of [running, fresh, old, kept]) {
      await events.append(run.id, [{ n: 7, event: { type: 'content', text: 'x' } }]);
    }
    for (const run of [fresh, old, kept])
      await runs.end(run.id, 'gateway-dead', { state: 'interrupted', usage: noUsage });
    const [loose, keptCall] = [someCall({ sessionId: 'gone' }), someCall({ sessionId: 'kept' })];
    for (const call of [loose, keptCall]) {
      await journal.plan(call, context);
      await journal.end({ ...context, callId: call.id, outcome: someOutcome });
    }
    await database.prisma
      .$executeRaw`update runs set ended_at = now() - interval '11 minutes' where id in (${old.id}, ${kept.id})`;
    await watched().sweep(signal);
    const left = await Promise.all(
      [running, fresh, old, kept].map(async ({ id }) => (await events.read(id, 0, 9)).length),
    );
    expect(left).toEqual([1, 1, 0, 0]);
    expect(await events.truncate(old.id, 0)).toBe(7);
    await database.prisma
      .$executeRaw`update runs set ended_at = now() - interval '31 days' where id in (${old.id}, ${kept.id})`;
    await database.prisma.$executeRaw`update tool_calls set ended_at = now() - interval '25 hours'`;
    const reaper = watched({ batch: 1 });
    for (let count = 0; count < 4; count += 1) await reaper.sweep(signal);
    expect(await runs.get('local', old.id)).toBeUndefined();
    expect(await runs.get('local', kept.id)).toBeDefined();
    expect(await runs.get('local', fresh.id)).toBeDefined();
    expect(await journal.get(loose.id)).toBeUndefined();
    expect(await journal.get(keptCall.id)).toBeDefined();
    expect(await audits([loose.id])).toHaveLength(1);
  });
});
