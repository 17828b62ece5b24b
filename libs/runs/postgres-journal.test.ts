import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { storeUnavailable } from '#libs/store-error/store-error.js';
import { failedOutcome } from '#libs/schemas/tool-outcome.js';
import { someCall, someOutcome, someRound, someRun } from '../../test/support/stored-rows.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import { PostgresJournal } from './postgres-journal.js';
import { PostgresRunStore } from './postgres-run-store.js';
import { StoreWrites } from './store-writes.js';

const context = { requestId: 'req_1' };
const hostile =
  'nul \u0000 high \ud800 low \udc00 pair \ud83d\ude00 fffd \ufffd noncharacter \ufdd0 quote " \\u0000 \\';

describe('PostgresJournal', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let journal: PostgresJournal;
  beforeAll(async () => {
    testDatabase = await createMigratedDatabase();
    database = openDatabase({ url: testDatabase.url, poolSize: 8, timeoutMs: 5_000, applicationName: 'test' });
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });
  beforeEach(async () => {
    journal = new PostgresJournal(database);
  });

  const planned = async (members = {}) => {
    const call = someCall(members);
    await journal.plan(call, context);
    return call;
  };
  const auditOf = (callId: string) => database.prisma.auditEvent.findMany({ where: { callId } });
  /** Rows written by one transaction carry its number. */
  const transactionsOf = async (calls: readonly { id: string }[]): Promise<number> => {
    const [row] = await database.prisma.$queryRaw<{ count: bigint }[]>`
      select count(distinct xmin::text) from tool_calls where id = any (${calls.map(({ id }) => id)})`;
    return Number(row?.count);
  };

  verifies('journal.read-together', 'two hundred looks at fifty calls, and at none', async () => {
    let statements = 0;
    const counted: Database = { ...database, call: (work) => (statements++, database.call(work)) };
    const calls = await Promise.all(Array.from({ length: 50 }, () => planned()));
    const reader = new PostgresJournal(counted);
    const ids = [...calls, ...calls, ...calls, ...calls].map(({ id }) => id);
    const read = await Promise.all([...ids, 'call_nobody_has'].map((id) => reader.get(id)));
    expect(read.map((call) => call?.id)).toEqual([...ids, undefined]);
    expect(statements).toBeLessThanOrEqual(5);
  });

  verifies('journal.one-terminal-state', 'two hundred ends of one claim at once', async () => {
    const call = await planned();
    const claim = await journal.claim({ callId: call.id, worker: 'worker-1' });
    const ends = await Promise.all(
      Array.from({ length: 200 }, (_item, index) =>
        new PostgresJournal(database).end({
          ...context,
          callId: call.id,
          fence: claim!.fence,
          outcome: { ...someOutcome, blocks: [{ type: 'text', text: `${index}` }] },
        }),
      ),
    );
    expect(ends.filter(Boolean)).toHaveLength(1);
    const stored = await journal.get(call.id);
    expect(stored).toMatchObject({
      state: 'completed',
      outcome: { blocks: [{ text: `${ends.indexOf(true)}` }] },
    });
    expect(await auditOf(call.id)).toHaveLength(1);
  });

  verifies('journal.one-terminal-state', 'a terminal state is left by nothing', async () => {
    for (const state of ['completed', 'failed', 'cancelled', 'denied', 'indeterminate'] as const) {
      const call = await planned();
      expect(await journal.end({ ...context, callId: call.id, outcome: { ...someOutcome, state } })).toBe(true);
      expect(await journal.end({ ...context, callId: call.id, outcome: someOutcome })).toBe(false);
      expect(await journal.claim({ callId: call.id, worker: 'worker-1' })).toBeUndefined();
      expect(await journal.cancelPlanned([call.id], context)).toEqual([]);
      expect((await journal.get(call.id))?.state).toBe(state);
      expect(await auditOf(call.id)).toHaveLength(1);
    }
  });

  verifies('journal.claimed-once', 'two hundred workers', async () => {
    const call = await planned();
    const claims = await Promise.all(
      Array.from({ length: 200 }, (_item, index) =>
        new PostgresJournal(database).claim({ callId: call.id, worker: `worker-${index}` }),
      ),
    );
    const won = claims.filter((claim) => claim !== undefined);
    expect(won).toEqual([{ fence: expect.stringMatching(/^\d+$/) as unknown, attempt: 1 }]);
    expect(await journal.get(call.id)).toMatchObject({
      state: 'dispatched',
      worker: `worker-${claims.findIndex((claim) => claim !== undefined)}`,
      fence: won[0]?.fence,
    });
  });

  verifies('journal.stale-fence-refused', 'an old claim, no fence, another’s fence, nonsense', async () => {
    const call = await planned({ safe: true });
    const old = await journal.claim({ callId: call.id, worker: 'worker-1' });
    // As the reaper does when the worker was lost.
    await database.prisma.toolCall.update({ where: { id: call.id }, data: { state: 'planned' } });
    const next = await journal.claim({ callId: call.id, worker: 'worker-2' });
    expect(next?.attempt).toBe(2);
    for (const fence of [old!.fence, '999999', '0', 'nonsense', '1 or 1=1', '9'.repeat(40)]) {
      expect(await journal.end({ ...context, callId: call.id, fence, outcome: someOutcome })).toBe(false);
    }
    expect(await journal.end({ ...context, callId: call.id, outcome: someOutcome })).toBe(false);
    expect(await auditOf(call.id)).toEqual([]);
    expect(await journal.end({ ...context, callId: call.id, fence: next!.fence, outcome: someOutcome })).toBe(true);
  });

  verifies('journal.lost-claim', 'without its fence, of a safe call, by the worker that claimed it', async () => {
    const [safe, unsafe] = await Promise.all([planned({ safe: true }), planned()]);
    for (const { id } of [safe, unsafe]) await journal.claim({ callId: id, worker: 'worker-1' });
    const end = (callId: string, worker: string) => journal.end({ ...context, callId, worker, outcome: someOutcome });
    expect(await end(safe.id, 'worker-2')).toBe(false);
    expect(await end(unsafe.id, 'worker-1')).toBe(false);
    expect(await end(safe.id, 'worker-1')).toBe(true);
    expect(await end(safe.id, 'worker-1')).toBe(false);
    expect(await auditOf(safe.id)).toMatchObject([{ attempt: 1, worker: 'worker-1' }]);
  });

  verifies('journal.audit-with-the-end', 'everything the row says', async () => {
    const call = await planned({
      sessionId: 'session-7',
      arguments: { path: 'a.txt', password: 'canary-secret' },
      policyRule: 'rule-3',
    });
    const claim = await journal.claim({ callId: call.id, worker: 'worker-9' });
    const ended = await journal.end({
      requestId: 'req_9',
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      keyId: 'key-1',
      ip: '192.0.2.1',
      model: 'offline/echo',
      callId: call.id,
      fence: claim!.fence,
      worker: 'worker-9',
      isolation: 'confined',
      outcome: { ...failedOutcome('failed', 'tool_failed', 'token=canary-secret', 5), queueWaitMs: 2 },
    });
    expect(ended).toBe(true);
    const [row, ...more] = await auditOf(call.id);
    expect(more).toEqual([]);
    expect(row).toMatchObject({
      kind: 'tool_call',
      requestId: 'req_9',
      traceId: 'a'.repeat(32),
      principal: 'local',
      keyId: 'key-1',
      ip: '192.0.2.1',
      sessionId: 'session-7',
      model: 'offline/echo',
      server: 'workspace',
      tool: 'write_file',
      definitionHash: 'definition',
      success: false,
      state: 'failed',
      errorCode: 'tool_failed',
      durationMs: 5,
      queueWaitMs: 2,
      attempt: 1,
      cached: false,
      isolation: 'confined',
      policyRule: 'rule-3',
      worker: 'worker-9',
    });
    expect(row?.argumentsDigest).toMatch(/^[\da-f]{64}$/);
    expect(Object.values(row ?? {}).join(' ')).not.toContain('canary-secret');
    expect(Math.abs(Date.now() - row!.at.getTime())).toBeLessThan(60_000);
  });

  verifies('journal.audit-with-the-end', 'an end whose audit row cannot be written has not happened', async () => {
    const call = await planned();
    const other = await planned();
    const id = '00000000-0000-7000-8000-000000000000';
    await database.prisma.auditEvent.create({
      data: { id, kind: 'tool_call', callId: call.id, requestId: 'req_0', principal: 'local', success: true },
    });
    const [bad, good] = await Promise.allSettled([
      journal.end({ ...context, callId: call.id, outcome: someOutcome }),
      journal.end({ ...context, callId: other.id, outcome: someOutcome }),
    ]);
    expect(bad.status).toBe('rejected');
    expect(good).toEqual({ status: 'fulfilled', value: true });
    expect((await journal.get(call.id))?.state).toBe('planned');
  });

  test('a call that ended before it began is terminal and audited at once; a client’s is audited as one', async () => {
    const denied = failedOutcome('denied', 'tool_denied', 'not allowed');
    const call = await planned({ outcome: denied });
    expect(await journal.get(call.id)).toMatchObject({ state: 'denied', outcome: denied });
    expect(await auditOf(call.id)).toMatchObject([{ success: false, errorCode: 'tool_denied', attempt: 0 }]);
    const { id } = await planned({ kind: 'client' });
    expect(await auditOf(id)).toMatchObject([{ kind: 'client_call', state: 'planned', success: true }]);
  });

  verifies('journal.cancel-planned', 'dispatched ones go on', async () => {
    const [first, second, third] = [await planned(), await planned(), await planned()];
    await journal.claim({ callId: second.id, worker: 'worker-1' });
    const ids = [first.id, second.id, third.id, 'call_unknown', first.id];
    const cancelled = await Promise.all([journal.cancelPlanned(ids, context), journal.cancelPlanned(ids, context)]);
    expect(cancelled.flat().sort()).toEqual([first.id, third.id].sort());
    expect((await journal.get(second.id))?.state).toBe('dispatched');
    expect(await auditOf(first.id)).toMatchObject([{ state: 'cancelled', errorCode: 'cancelled' }]);
    await journal.cancelPlanned([(await planned({ id: 'call_refused' })).id], context, storeUnavailable('It is full'));
    expect((await journal.get('call_refused'))?.outcome?.error?.message).toBe('The call did not begin: It is full');
  });

  verifies('store.any-string', 'a call’s arguments and outcome', async () => {
    const runs = new PostgresRunStore(database);
    const run = someRun({ request: { text: hostile, [hostile]: 1 }, session: hostile } as never);
    await runs.begin(run);
    const call = someCall({ arguments: { text: hostile, [hostile]: [hostile] }, name: hostile, tool: hostile });
    const round = someRound(run.id, {
      content: hostile,
      reasoning: hostile,
      calls: [call],
      providerState: { provider: 'x', state: { z: hostile, a: 1, 10: 2 } },
    });
    await runs.planRound(round, { requestId: hostile, ip: hostile });
    const outcome = {
      ...someOutcome,
      blocks: [{ type: 'text' as const, text: hostile }],
      structuredContent: { [hostile]: hostile },
    };
    expect(await journal.end({ ...context, callId: call.id, outcome })).toBe(true);
    const [stored] = await runs.rounds(run.id);
    expect(stored).toMatchObject({ content: hostile, reasoning: hostile, providerState: round.providerState });
    expect(JSON.stringify(stored?.providerState)).toBe(JSON.stringify(round.providerState));
    expect(stored?.calls[0]).toMatchObject({ arguments: call.arguments, outcome, job: call.job });
    expect(await auditOf(call.id)).toHaveLength(1);
    expect(await runs.get('local', run.id)).toMatchObject({ request: run.request });
    expect(await journal.get(hostile)).toBeUndefined();
    expect(await journal.claim({ callId: hostile, worker: 'worker-1' })).toBeUndefined();
  });

  verifies('store.group-commit', 'two hundred calls at once, through all their states', async () => {
    const calls = Array.from({ length: 200 }, () => someCall());
    await Promise.all(calls.map((call) => journal.plan(call, context)));
    expect(await transactionsOf(calls)).toBeLessThanOrEqual(4);
    const claims = await Promise.all(calls.map(({ id }) => journal.claim({ callId: id, worker: 'worker-1' })));
    expect(new Set(claims.map((claim) => claim?.fence)).size).toBe(200);
    const ends = await Promise.all(
      calls.map(({ id }, index) =>
        journal.end({
          ...context,
          callId: id,
          fence: claims[index]!.fence,
          outcome: { ...someOutcome, blocks: [{ type: 'text', text: id }] },
        }),
      ),
    );
    expect(ends.every(Boolean)).toBe(true);
    expect(await transactionsOf(calls)).toBeLessThanOrEqual(4);
    const stored = await Promise.all(calls.map(({ id }) => journal.get(id)));
    expect(stored.map((call) => call?.outcome?.blocks)).toEqual(calls.map(({ id }) => [{ type: 'text', text: id }]));
    const audited = await database.prisma.auditEvent.count({ where: { callId: { in: calls.map(({ id }) => id) } } });
    expect(audited).toBe(200);
  });

  verifies('store.away-answers-in-time', 'a claim behind a write that hangs', async () => {
    const call = await planned();
    const hurried = openDatabase({ url: testDatabase.url, poolSize: 2, timeoutMs: 400, applicationName: 'test' });
    const slow = new PostgresJournal(hurried);
    const release = await lockCalls();
    try {
      const waits = [0, 100, 200].map(async (delay) => {
        await new Promise((resolve) => setTimeout(resolve, delay));
        const start = performance.now();
        await expect(slow.claim({ callId: call.id, worker: 'worker-1' })).rejects.toMatchObject({
          code: 'store_unavailable',
        });
        return performance.now() - start;
      });
      expect(Math.max(...(await Promise.all(waits)))).toBeLessThan(1_500);
    } finally {
      await release();
      await hurried.close();
    }
    // A call that hit its deadline may have been written anyway; the next call shows that the store works.
    const next = await planned();
    expect(await journal.claim({ callId: next.id, worker: 'worker-1' })).toBeDefined();
  });

  /** Blocks writes to calls until it is released. */
  const lockCalls = async (): Promise<() => Promise<void>> => {
    const client = new pg.Client({ connectionString: testDatabase.url });
    await client.connect();
    await client.query('begin; lock table tool_calls in exclusive mode');
    return () => client.end();
  };

  test('without audit there are no rows of it', async () => {
    const silent = new PostgresJournal(database, new StoreWrites(database, { audit: false }));
    const call = await planned();
    expect(await silent.end({ ...context, callId: call.id, outcome: someOutcome })).toBe(true);
    expect(await auditOf(call.id)).toEqual([]);
  });
});
