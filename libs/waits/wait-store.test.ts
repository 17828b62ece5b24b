import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';
import { PostgresJournal } from '#libs/runs/postgres-journal.js';
import { PostgresRunStore } from '#libs/runs/postgres-run-store.js';
import { skippedOutcome } from '#libs/schemas/tool-outcome.js';
import { noUsage } from '#libs/schemas/usage.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { someCall, someRound, someRun } from '../../test/support/stored-rows.js';
import { verifies } from '../../test/verifies.js';
import { WaitStore } from './wait-store.js';

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  database = openDatabase({ url: testDatabase.url, poolSize: 2, timeoutMs: 5_000, applicationName: 'test' });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const approver = { principal: 'local', requestId: 'req_1' };

/** Whether a parked call of such a run can be approved when the run is in that state. */
async function canBeApproved(state: 'interrupted' | 'failed' | 'running', members: object): Promise<boolean> {
  const runs = new PostgresRunStore(database);
  const run = someRun(members);
  await runs.begin(run);
  const id = `appr_${run.id}`;
  const call = someCall({ approval: { id, argumentsHash: 'hash', expiresMs: 60_000, notify: false } });
  await runs.planRound(someRound(run.id, { calls: [call] }), approver);
  if (state !== 'running') await runs.end(run.id, 'gateway-1', { state, usage: noUsage });
  const store = new WaitStore(database);
  return (await store.decide((await store.get(id))!, { decision: 'approve' }, approver))?.state === 'approved';
}

verifies('approvals.doomed', 'before its approval is cancelled', async () => {
  expect(await canBeApproved('interrupted', {})).toBe(false);
  expect(await canBeApproved('failed', { detached: true })).toBe(false);
});

test('an approval of a run that goes on, or can, is decided', async () => {
  expect(await canBeApproved('running', {})).toBe(true);
  expect(await canBeApproved('interrupted', { detached: true })).toBe(true);
  expect(await canBeApproved('interrupted', { idempotencyKey: 'key' })).toBe(true);
});

test('an approval of a call that was skipped is kept for the next call like it, once', async () => {
  const journal = new PostgresJournal(database);
  const store = new WaitStore(database);
  const approval = { id: 'appr_skipped', argumentsHash: 'hash', expiresMs: 60_000, notify: false };
  const { id, principal, name, definitionHash } = someCall();
  await journal.plan(someCall({ id, approval }), approver);
  await store.decide((await store.get(approval.id))!, { decision: 'approve' }, approver);
  await journal.end({ ...approver, callId: id, outcome: skippedOutcome });
  const like = { principal, name, definitionHash, argumentsHash: approval.argumentsHash, inRun: false };
  expect(await store.takeUnused('call_next', like)).toMatchObject({ id: approval.id, state: 'approved' });
  expect(await store.takeUnused('call_third', like)).toBeUndefined();
});
