import { afterAll, beforeAll, expect } from 'vitest';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { noUsage as usage } from '#libs/schemas/usage.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { someCall, someOutcome, someRound, someRun } from '../../test/support/stored-rows.js';
import { verifies } from '../../test/verifies.js';
import { PostgresJournal } from './postgres-journal.js';
import { PostgresRunStore } from './postgres-run-store.js';
import type { PlannedCall } from './run-store.js';

const context = { requestId: 'req_1' };
let testDatabase: TestDatabase;
let database: Database;
let runs: PostgresRunStore;
let journal: PostgresJournal;
beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  database = openDatabase({ url: testDatabase.url, poolSize: 4, timeoutMs: 5_000, applicationName: 'test' });
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

/** A tool call with a key, which was refused a place. */
const refusedOwnCall = async () => {
  const { id } = await begun({ detached: true, idempotencyKey: 'refused' });
  const call = someCall();
  await runs.planRound(someRound(id, { calls: [call], provider: '', model: '' }), context);
  await journal.cancelPlanned([call.id], context);
  await runs.end(id, 'gateway-1', { state: 'interrupted', usage });
};

verifies('runs.interrupted-detached', 'those that wait last, each with the reason why it broke off', async () => {
  const approval = { id: 'appr_1', argumentsHash: 'hash', expiresMs: 60_000, notify: false };
  const parked = (id: string) => someCall({ approval: { ...approval, id } });
  const interrupted = async (members: object, calls: PlannedCall[] = [], error?: JsonObject) => {
    const { id } = await begun(members);
    if (calls.length > 0) await runs.planRound(someRound(id, { calls }), context);
    await runs.end(id, 'gateway-1', { state: 'interrupted', usage, ...(error && { error }) });
    return id;
  };
  const detached = { detached: true };
  const keyed = await interrupted({ ...detached, idempotencyKey: 'alone' }, [someCall()], { code: 'model_error' });
  await interrupted({ ...detached, idempotencyKey: 'not begun' });
  await refusedOwnCall();
  await interrupted({});
  await begun(detached);
  const waiting = await interrupted(detached, [someCall(), parked('appr_held')]);
  const returned = await interrupted(detached, [parked('appr_returned'), someCall({ kind: 'client' })]);
  const running = someCall();
  const still = await interrupted(detached, [running]);
  const claim = await journal.claim({ callId: running.id, worker: 'worker-1' });
  const seen = async () => (await runs.interruptedDetached(10)).map(({ id, waits }) => [id, waits]);
  expect(await seen()).toEqual([
    [returned, false],
    [keyed, false],
    [still, true],
    [waiting, true],
  ]);
  expect((await runs.interruptedDetached(10)).find(({ id }) => id === keyed)).toMatchObject({
    keyed: true,
    error: { code: 'model_error' },
    adoptions: 0,
  });
  await journal.end({ callId: running.id, fence: claim!.fence, outcome: someOutcome, ...context });
  await database.prisma.$executeRaw`update approvals set state = 'denied' where id = 'appr_held'`;
  expect((await runs.interruptedDetached(10)).map(({ waits }) => waits)).toEqual([false, false, false, false]);
  expect(await runs.adopt(keyed, 'gateway-2')).toBe(true);
  await runs.end(keyed, 'gateway-2', { state: 'interrupted', usage });
  expect((await runs.interruptedDetached(1))[0]).toMatchObject({ id: keyed, error: null, adoptions: 1 });
});

verifies(
  'runs.interrupted-detached',
  'not one that was cancelled before its gateway was found to be gone',
  async () => {
    const run = await begun({ detached: true });
    expect(await runs.cancel('local', run.id)).toBe(false);
    await runs.end(run.id, 'gateway-1', { state: 'interrupted', usage });
    expect((await runs.interruptedDetached(10)).map(({ id }) => id)).not.toContain(run.id);
    expect(await runs.cancel('local', run.id)).toBe(true);
  },
);
