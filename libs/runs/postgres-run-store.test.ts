import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { failedOutcome } from '#libs/schemas/tool-outcome.js';
import { noUsage } from '#libs/schemas/usage.js';
import { someCall, someOutcome, someRound, someRun } from '../../test/support/stored-rows.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import { PostgresEventLog } from './postgres-event-log.js';
import { PostgresJournal } from './postgres-journal.js';
import { PostgresRunStore } from './postgres-run-store.js';
import type { NumberedEvent } from './run-store.js';

const context = { requestId: 'req_1' };
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };

describe('PostgresRunStore', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let runs: PostgresRunStore;
  let journal: PostgresJournal;
  beforeAll(async () => {
    testDatabase = await createMigratedDatabase();
    database = openDatabase({ url: testDatabase.url, poolSize: 8, timeoutMs: 5_000, applicationName: 'test' });
    runs = new PostgresRunStore(database);
    journal = new PostgresJournal(database);
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });
  const begun = async (members = {}) => {
    const run = someRun(members);
    await runs.begin(run);
    return run;
  };

  test('a run and its first round are written together, and no round of a run that could not begin', async () => {
    const [run, taken] = [someRun(), someRun({ idempotencyKey: 'taken' })];
    await runs.begin(someRun({ idempotencyKey: 'taken' }));
    const round = (runId: string) => someRound(runId, { calls: [someCall()] });
    const statements: string[] = [];
    const query = database.query.bind(database);
    const watched = Object.assign(Object.create(database) as Database, {
      query: (text: string, parameters: unknown[]) => (statements.push(text), query(text, parameters)),
    });
    const store = new PostgresRunStore(watched);
    const [begun, planned] = await Promise.all([store.begin(run), store.planRound(round(run.id), context)]);
    expect([begun.created, planned, statements.length]).toEqual([true, undefined, 1]);
    expect((await runs.rounds(run.id)).map(({ calls }) => calls.length)).toEqual([1]);
    const refused = await Promise.allSettled([store.begin(taken), store.planRound(round(taken.id), context)]);
    expect(refused[1]).toMatchObject({ status: 'rejected', reason: { code: 'shutting_down' } });
    expect(await runs.rounds(taken.id)).toEqual([]);
  });

  verifies('runs.idempotency-one-run', 'two hundred requests on four gateways', async () => {
    const gateways = Array.from({ length: 4 }, () => new PostgresRunStore(database));
    const results = await Promise.all(
      Array.from({ length: 200 }, (_item, index) =>
        gateways[index % 4]!.begin(someRun({ idempotencyKey: 'key-1', requestHash: `hash-${index % 2}` })),
      ),
    );
    expect(results.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(results.map(({ run }) => run.id)).size).toBe(1);
    // The run stores the hash of its request; the caller compares it.
    expect(new Set(results.map(({ run }) => run.requestHash)).size).toBe(1);
  });

  test('keys are a principal’s own, and runs without one are all different', async () => {
    const mine = await runs.begin(someRun({ idempotencyKey: 'key-2' }));
    const theirs = await runs.begin(someRun({ idempotencyKey: 'key-2', principal: 'other' }));
    const plain = await Promise.all([1, 2, 3].map(() => runs.begin(someRun())));
    expect([mine, theirs, ...plain].every(({ created }) => created)).toBe(true);
    expect(await runs.get('other', mine.run.id)).toBeUndefined();
  });

  test('what belongs to a run goes with it, and nothing of another', async () => {
    const log = new PostgresEventLog(database);
    const [removed, kept] = [await begun(), await begun()];
    const ofRun = async (runId: string) => [
      await database.prisma.runRound.count({ where: { runId } }),
      await database.prisma.toolCall.count({ where: { runId } }),
      await database.prisma.runEvent.count({ where: { runId } }),
    ];
    for (const { id } of [removed, kept]) {
      await runs.planRound(someRound(id, { calls: [someCall({ kind: 'client' })] }), context);
      await log.append(id, [{ n: 1, event: { type: 'content', text: 'x' } }]);
      await runs.end(id, 'gateway-1', { state: 'done', usage });
      expect(await ofRun(id)).toEqual([1, 1, 1]);
    }
    expect(await runs.remove('local', removed.id)).toBe(true);
    expect(await ofRun(removed.id)).toEqual([0, 0, 0]);
    expect(await ofRun(kept.id)).toEqual([1, 1, 1]);
  });

  verifies('runs.idempotency-expires', 'by the database’s clock', async () => {
    const short = new PostgresRunStore(database, { idempotencyTtlMs: 1_000 });
    const first = await short.begin(someRun({ idempotencyKey: 'key-3' }));
    expect((await short.begin(someRun({ idempotencyKey: 'key-3' }))).run.id).toBe(first.run.id);
    await database.prisma
      .$executeRaw`update runs set created_at = now() - interval '2 seconds' where id = ${first.run.id}`;
    const again = await Promise.all([1, 2, 3, 4].map(() => short.begin(someRun({ idempotencyKey: 'key-3' }))));
    expect(again.filter(({ created }) => created)).toHaveLength(1);
    expect(again[0]?.run.id).not.toBe(first.run.id);
    expect(await runs.get('local', first.run.id)).toBeDefined();
  });

  test('a run reads back as it was begun', async () => {
    const run = someRun({ keyId: 'key', sessionId: 'session', idempotencyKey: 'key-4', detached: true });
    const { run: fresh } = await runs.begin(run);
    const stored = await runs.get('local', run.id);
    expect(stored).toEqual(fresh);
    expect(stored).toMatchObject({ ...run, state: 'running', endedAt: null, answer: null, error: null });
  });

  verifies('runs.ended-by-owner', 'once, and by nobody else', async () => {
    const run = await begun();
    const end = { state: 'done' as const, usage, answer: { text: 'hi' } };
    expect(await runs.end(run.id, 'gateway-2', end)).toBe(false);
    const ends = await Promise.all(
      Array.from({ length: 20 }, () => new PostgresRunStore(database).end(run.id, 'gateway-1', end)),
    );
    expect(ends.filter(Boolean)).toHaveLength(1);
    expect(await runs.end(run.id, 'gateway-1', { ...end, state: 'failed' })).toBe(false);
    expect(await runs.get('local', run.id)).toMatchObject({ state: 'done', usage, answer: { text: 'hi' } });
    expect((await runs.get('local', run.id))?.endedAt).toBeInstanceOf(Date);
  });

  verifies('runs.adopted-once', 'twenty gateways want an interrupted run', async () => {
    const run = await begun();
    expect(await runs.adopt(run.id, 'gateway-2')).toBe(false);
    await runs.end(run.id, 'gateway-1', { state: 'interrupted', usage });
    const adopted = await Promise.all(
      Array.from({ length: 20 }, (_item, index) => runs.adopt(run.id, `adopter-${index}`)),
    );
    expect(adopted.filter(Boolean)).toHaveLength(1);
    expect(await runs.get('local', run.id)).toMatchObject({
      state: 'running',
      endedAt: null,
      owner: `adopter-${adopted.indexOf(true)}`,
    });
    // The gateway that lost the run writes nothing more.
    expect(await runs.end(run.id, 'gateway-1', { state: 'done', usage })).toBe(false);
    const late = runs.planRound(someRound(run.id, { owner: 'gateway-1', calls: [someCall()] }), context);
    await expect(late).rejects.toMatchObject({ code: 'shutting_down' });
    expect(await runs.rounds(run.id)).toEqual([]);
  });

  test('who was given up may still be done, while nobody else goes on with the run', async () => {
    const [late, later] = [someRun(), someRun()];
    for (const run of [late, later]) {
      await runs.begin(run);
      // The state left by the reaper: the owner is unchanged.
      await runs.end(run.id, 'gateway-1', { state: 'interrupted', usage });
    }
    expect(await runs.end(late.id, 'gateway-1', { state: 'failed', usage })).toBe(false);
    expect(await runs.end(late.id, 'gateway-2', { state: 'done', usage })).toBe(false);
    expect(await runs.end(late.id, 'gateway-1', { state: 'done', usage })).toBe(true);
    expect(await runs.get(late.principal, late.id)).toMatchObject({ state: 'done' });
    expect(await runs.adopt(late.id, 'gateway-2')).toBe(false);
    expect(await runs.adopt(later.id, 'gateway-2')).toBe(true);
    expect(await runs.end(later.id, 'gateway-1', { state: 'done', usage })).toBe(false);
  });

  test('an interrupted run is cancelled by its principal, and is then nobody’s to adopt', async () => {
    const run = await begun();
    expect(await runs.cancel('local', run.id)).toBe(false);
    await runs.end(run.id, 'gateway-1', { state: 'interrupted', usage });
    expect(await runs.cancel('other', run.id)).toBe(false);
    const results = await Promise.all([runs.cancel('local', run.id), runs.cancel('local', run.id)]);
    expect(results.filter(Boolean)).toHaveLength(1);
    expect(await runs.adopt(run.id, 'gateway-2')).toBe(false);
    expect((await runs.get('local', run.id))?.state).toBe('cancelled');
  });

  verifies('runs.removed', 'with all that it has; not while anything of it is under way, not by another', async () => {
    const run = await begun();
    const call = someCall();
    await runs.planRound({ ...someRound(run.id, { calls: [call] }), owner: 'gateway-1' }, context);
    expect(await runs.remove('local', run.id)).toBe(false);
    await runs.end(run.id, 'gateway-1', { state: 'cancelled', usage });
    expect(await runs.remove('local', run.id)).toBe(false);
    await journal.cancelPlanned([call.id], context);
    expect(await runs.remove('other', run.id)).toBe(false);
    expect(await runs.remove('local', run.id)).toBe(true);
    expect(await runs.get('local', run.id)).toBeUndefined();
    expect(await journal.get(call.id)).toBeUndefined();
    expect(await runs.remove('local', run.id)).toBe(false);
  });

  verifies('runs.round-with-its-calls', 'all or nothing, refused once the run has ended', async () => {
    const run = await begun();
    const calls = [
      someCall(),
      someCall({ kind: 'client', name: 'ask_user' }),
      someCall({ outcome: failedOutcome('failed', 'invalid_tool_arguments', 'no JSON') }),
    ];
    const round = someRound(run.id, { calls });
    await runs.planRound({ ...round, owner: 'gateway-1' }, context);
    const [stored] = await runs.rounds(run.id);
    expect(stored).toMatchObject({
      ...round,
      calls: [{ state: 'planned' }, { state: 'planned' }, { state: 'failed' }],
    });
    expect(stored?.calls.map(({ id, position }) => [id, position])).toEqual(calls.map(({ id }, index) => [id, index]));
    const where = { runId: run.id, kind: 'tool_call' };
    expect(await database.prisma.auditEvent.findMany({ where })).toMatchObject([
      { callId: calls[2]!.id, errorCode: 'invalid_tool_arguments', model: 'echo', round: 1 },
    ]);
    // An existing call fails its whole round, and only that round.
    const other = await begun();
    const results = await Promise.allSettled([
      runs.planRound(someRound(run.id, { round: 2, calls: [someCall(), calls[0]!] }), context),
      runs.planRound(someRound(other.id, { calls: [someCall()] }), context),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(await runs.rounds(run.id)).toHaveLength(1);
    await runs.end(run.id, 'gateway-1', { state: 'cancelled', usage: noUsage });
    const late = runs.planRound(someRound(run.id, { round: 2 }), context);
    await expect(late).rejects.toMatchObject({ code: 'shutting_down' });
  });

  verifies('runs.mixed-turn-found', 'by a call id, up to its round, for its principal only', async () => {
    const run = await begun({ sessionId: 'session-1' });
    const server = someCall();
    const client = someCall({ kind: 'client', name: 'ask_user' });
    await runs.planRound(someRound(run.id, { calls: [server, client] }), context);
    await journal.end({ ...context, callId: server.id, outcome: someOutcome });
    await runs.planRound(someRound(run.id, { round: 2, calls: [someCall({ kind: 'client' })] }), context);
    const found = await runs.findByCalls('local', [client.id, server.id, 'call_unknown', 'nul \u0000']);
    expect([...found.keys()]).toEqual([client.id]);
    expect(found.get(client.id)).toMatchObject({
      run: { id: run.id },
      rounds: [{ round: 1, calls: [{ id: server.id, outcome: someOutcome }, { id: client.id }] }],
    });
    expect(await runs.findByCalls('local', [client.id])).toEqual(await runs.findByCalls('local', [client.id]));
    expect(await runs.findByCalls('other', [client.id])).toEqual(new Map());
    expect(await runs.findByCalls('local', [])).toEqual(new Map());
  });

  describe('PostgresEventLog', () => {
    const events = (from: number, to: number): NumberedEvent[] =>
      Array.from({ length: to - from + 1 }, (_item, index) => ({
        n: from + index,
        event: { type: 'content', text: `${from + index} \u0000 \ud800` },
      }));
    const numbers = (found: NumberedEvent[]) => found.map(({ n }) => n);

    verifies('runs.events-resume', 'from any number, in order, over bursts', async () => {
      const log = new PostgresEventLog(database);
      const run = await begun();
      await Promise.all([log.append(run.id, events(1, 3)), log.append(run.id, events(4, 4)), log.append(run.id, [])]);
      await log.append(run.id, events(5, 9));
      await log.append(run.id, events(5, 9));
      expect(await log.read(run.id, 0, 100)).toEqual(events(1, 9));
      expect(numbers(await log.read(run.id, 2, 100))).toEqual([3, 4, 5, 6, 7, 8, 9]);
      expect(numbers(await log.read(run.id, 0, 2))).toEqual([1, 2, 3, 4]);
      expect(await log.read(run.id, 9, 100)).toEqual([]);
      expect(await log.read('run_unknown', 0, 100)).toEqual([]);
    });

    verifies('runs.event-numbers-never-reused', 'truncated within a burst, twice', async () => {
      const log = new PostgresEventLog(database);
      const run = await begun();
      await log.append(run.id, events(1, 4));
      await log.append(run.id, events(5, 9));
      expect(await log.truncate(run.id, 6)).toBe(9);
      expect(await log.read(run.id, 0, 100)).toEqual(events(1, 6));
      expect(await log.truncate(run.id, 2)).toBe(9);
      expect(numbers(await log.read(run.id, 0, 100))).toEqual([1, 2]);
      expect(await log.truncate(run.id, 2)).toBe(9);
      await log.append(run.id, events(10, 12));
      expect(await log.truncate(run.id, 2)).toBe(12);
    });

    test('a round and an end store the events that they bring, or neither', async () => {
      const log = new PostgresEventLog(database);
      const run = await begun();
      const round = { ...someRound(run.id), owner: 'gateway-1' };
      await runs.planRound({ ...round, events: events(1, 3) }, context);
      const again = { ...round, round: 2, events: events(4, 5) };
      await expect(runs.planRound({ ...again, owner: 'gateway-2' }, context)).rejects.toMatchObject({
        code: 'shutting_down',
      });
      expect(numbers(await log.read(run.id, 0, 100))).toEqual([1, 2, 3]);
      await runs.planRound({ ...again, events: [] }, context);
      const end = { state: 'done' as const, usage, events: events(4, 6) };
      expect(await runs.end(run.id, 'gateway-2', end)).toBe(false);
      expect(numbers(await log.read(run.id, 0, 100))).toEqual([1, 2, 3]);
      expect(await runs.end(run.id, 'gateway-1', end)).toBe(true);
      // The same as after a commit whose answer was lost.
      await log.append(run.id, events(4, 6));
      expect(numbers(await log.read(run.id, 0, 100))).toEqual([1, 2, 3, 4, 5, 6]);
    });

    test('events of a run that is not there are refused, those beside them are kept', async () => {
      const log = new PostgresEventLog(database);
      const run = await begun();
      const results = await Promise.allSettled([
        log.append('run_unknown', events(1, 2)),
        log.append(run.id, events(1, 2)),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    });
  });
});
