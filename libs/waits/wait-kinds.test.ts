// Every kind of wait goes through the same cases: a further row of the table has to pass them too.
import { afterAll, beforeAll, expect } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';
import { PostgresJournal } from '#libs/runs/postgres-journal.js';
import { mintApprovalId } from '#libs/schemas/identifiers.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { someCall, someOutcome } from '../../test/support/stored-rows.js';
import { verifies } from '../../test/verifies.js';
import type { Wait } from './wait.js';
import { WaitAnnouncements } from './wait-announcements.js';
import { isForPeople, kindNames, stopClocks, waitKinds } from './wait-kinds.js';
import { type NewWait, WaitStore } from './wait-store.js';

let testDatabase: TestDatabase;
let database: Database;
let store: WaitStore;
let journal: PostgresJournal;
beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  database = openDatabase({ url: testDatabase.url, poolSize: 4, timeoutMs: 5_000, applicationName: 'test' });
  [store, journal] = [new WaitStore(database), new PostgresJournal(database)];
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const approver = { principal: 'approver', requestId: 'req_2' };
const times = { expiresMs: 60_000, notify: false };
const asked: Record<Exclude<Wait['kind'], 'approval' | 'sign_in'>, object> = {
  question: { message: 'Which?', schema: {} },
  sampling: { request: { messages: [], hints: [], maxTokens: 1 } },
};

/** A wait of this kind, and the fence of its call if that runs. */
async function open(kind: Wait['kind']): Promise<{ wait: Wait; fence?: string }> {
  const id = mintApprovalId();
  const call = someCall(kind === 'approval' ? { approval: { id, argumentsHash: 'hash', ...times } } : {});
  await journal.plan(call, { requestId: 'req_1' });
  const signIn = {
    id,
    callId: call.id,
    fence: undefined,
    worker: 'worker-1',
    server: 'hub',
    scopes: ['read'],
    maxWaiting: 100,
  };
  if (kind === 'sign_in') expect(await store.park({ ...signIn, arguments: {}, ...times })).toBe(true);
  if (waitKinds[kind].call === 'parked') return { wait: (await store.get(id))! };
  const { fence } = (await journal.claim({ callId: call.id, worker: 'worker-1' }))!;
  const row = { kind, id, callId: call.id, fence, arguments: {}, ...times, ...asked[kind as keyof typeof asked] };
  await store.ask(row as NewWait);
  return { wait: (await store.get(id))!, fence };
}

/** Who may answer gives a yes or a no. True if it counted. */
async function answers(wait: Wait, yes: boolean): Promise<boolean> {
  const decision = yes ? 'approve' : 'deny';
  if (isForPeople(wait)) return (await store.decide(wait, { decision }, approver)) !== undefined;
  if (!(await store.take(wait.id, 'gateway-1', 60_000))) return false;
  const answer = yes ? { model: 'm', text: 'yes', stopReason: 'endTurn' } : { refused: 'no' };
  return store.sampled(wait, 'gateway-1', { answer, durationMs: 1 });
}

const now = async (id: string) => (await store.get(id))!;
const callOf = async ({ callId }: Wait) => (await journal.get(callId))!;
const auditsOf = ({ callId }: Wait) =>
  database.query<{ kind: string; state: string }>(
    'select kind, state from audit_events where call_id = $1 order by kind',
    [callId],
  );
/** The column has milliseconds, to which a time may be rounded up. */
const expire = ({ id }: Wait) =>
  database.query(`update approvals set expires_at = clock_timestamp() - interval '1 millisecond' where id = $1`, [id]);
const sweep = async () => {
  for (const wait of await store.lapsed(100)) await store.close(wait, wait.state as 'denied');
};

for (const kind of kindNames) {
  const { call: held, given } = waitKinds[kind];

  verifies('waits.once', `${kind}: of ten ends at once the first counts`, async () => {
    const { wait } = await open(kind);
    const ends = Array.from({ length: 10 }, (_, at) =>
      at % 2 ? store.close(wait, 'cancelled') : answers(wait, false),
    );
    expect((await Promise.all(ends)).filter(Boolean)).toHaveLength(1);
    const { state } = await now(wait.id);
    const isTold = state === 'denied' || (held === 'dispatched' && isForPeople({ kind }));
    const told = isTold ? [{ kind, state }] : [];
    const ended = held === 'parked' ? [{ kind: 'tool_call', state }] : [];
    expect(await auditsOf(wait)).toEqual([...told, ...ended]);
    expect((await callOf(wait)).state).toBe(held === 'parked' ? state : 'dispatched');
    expect(await answers(wait, true)).toBe(false);
  });

  verifies('waits.once', `${kind}: a yes is audited, and the call runs, or goes on with the answer`, async () => {
    const { wait } = await open(kind);
    expect(await answers(wait, true)).toBe(true);
    expect(await store.close(await now(wait.id), 'cancelled')).toBe(held === 'parked');
    expect((await auditsOf(wait)).filter((row) => row.kind === kind)).toEqual([{ kind, state: 'approved' }]);
    const other = await open(kind);
    await answers(other.wait, true);
    expect(given(await now(other.wait.id)) === undefined).toBe(held === 'parked');
    expect((await callOf(other.wait)).state).toBe(held);
  });

  verifies('waits.lapsed', `${kind}: nobody answers in time`, async () => {
    const { wait } = await open(kind);
    await expire(wait);
    expect(await answers(wait, true)).toBe(false);
    await sweep();
    const ended = await now(wait.id);
    expect([ended.state, given(ended) === undefined]).toEqual(['expired', false]);
    expect((await callOf(wait)).state).toBe(held === 'parked' ? 'denied' : 'dispatched');
  });

  verifies('waits.lapsed', `${kind}: its call has ended`, async () => {
    const { wait, fence } = await open(kind);
    const outcome = { ...someOutcome, state: fence === undefined ? ('cancelled' as const) : ('completed' as const) };
    await journal.end({ callId: wait.callId, requestId: 'req_1', outcome, ...(fence === undefined ? {} : { fence }) });
    expect(await answers(wait, true)).toBe(false);
    await sweep();
    expect((await now(wait.id)).state).toBe('cancelled');
    expect((await callOf(wait)).state).toBe(outcome.state);
  });

  verifies('waits.lapsed', `${kind}: ended alone by an earlier version`, async () => {
    const { wait } = await open(kind);
    await database.query(`update approvals set state = 'denied', decided_by = 'somebody' where id = $1`, [wait.id]);
    await sweep();
    expect((await callOf(wait)).state).toBe(held === 'parked' ? 'denied' : 'dispatched');
    expect((await now(wait.id)).decidedBy).toBe('somebody');
  });

  verifies('waits.woken', `${kind}: by an announcement, and without one`, async () => {
    let ring: (id: string) => void = () => undefined;
    const channels = {
      publish: async (_channel: string, id: string) => ring(id),
      subscribe: async (_channel: string, listener: typeof ring) => {
        ring = listener;
        return async () => undefined;
      },
    };
    const announcements = new WaitAnnouncements({ store, channels, logger: silentLogger });
    await announcements.start();
    for (const announced of [true, false]) {
      const { wait } = await open(kind);
      const ended = announcements.until(wait.id, new AbortController().signal, (seen) =>
        seen === undefined || seen.state === 'waiting' ? undefined : seen.state,
      );
      await answers(wait, false);
      if (announced) await announcements.announce(wait.id);
      expect(await ended).toBe('denied');
    }
    const reason = new Error('left');
    await expect(announcements.until('appr_none', AbortSignal.abort(reason), () => undefined)).rejects.toBe(reason);
    await announcements.close();
  });

  verifies('waits.clock', kind, () => {
    const standing: string[] = [];
    const clock = (name: string) => ({
      pause: () => {
        standing.push(name);
        return () => void standing.splice(standing.indexOf(name), 1);
      },
    });
    const goOn = stopClocks(waitKinds[kind], { turn: clock('turn'), tool: clock('tool') });
    expect(standing.sort()).toEqual(isForPeople({ kind }) ? ['tool', 'turn'] : ['tool']);
    goOn();
    expect(standing).toEqual([]);
  });
}

verifies('waits.once', 'only what people answer is listed', async () => {
  const opened = await Promise.all(kindNames.map(open));
  const listed = (await store.list({ limit: 100 })).map(({ id }) => id);
  for (const { wait } of opened) expect(listed.includes(wait.id), wait.kind).toBe(isForPeople(wait));
  const sinceBegun = opened.flatMap(({ wait }) => (wait.kind === 'approval' ? [] : wait.id));
  const found = await store.open(opened.map(({ wait }) => wait.callId));
  expect(found.map(({ id }) => id).sort()).toEqual(sinceBegun.sort());
});
