// How a call gets into each state, by the store's own methods.
import type { AuditContext, NewRun, PlannedCall } from '#libs/runs/run-store.js';
import type { CallTableState } from '../../../apps/gateway/turn/advance/call-table.js';
import { forever } from '../../support/runnable-call.js';
import { someCall, someJob, someOutcome, someRound, someRun } from '../../support/stored-rows.js';
import { gateway, goneWorker, type StoreWorld, worker } from './store-world.js';

export const audit: AuditContext = { requestId: 'req_1' };
export const caller = {
  principal: 'local',
  requestId: 'req_2',
  signal: new AbortController().signal,
  deadline: forever,
};

export interface CallFacts {
  safe?: boolean;
  /** In a run of this kind; else outside of runs. */
  run?: 'plain' | 'keyed' | 'detached';
  /** It was parked before it was planned. */
  approved?: boolean;
  /** It was parked for a sign-in before it was planned. */
  signedIn?: boolean;
  /** Its tool server asks something while it runs. */
  asks?: boolean;
  /** Workers that had it before, and were lost. */
  lost?: number;
  replyTo?: string;
}

/** A call in its state. */
export interface PlacedCall {
  call: PlannedCall;
  run: NewRun | undefined;
  /** Of its claim, and of the one before. */
  fence: string;
  earlierFence: string;
}

export const approval = { id: 'appr_1', argumentsHash: 'hash', expiresMs: 600_000, notify: false };
export const questionId = 'appr_2';
export const signInId = 'appr_4';
export const noClaim = '1';

/** In this state, by the store's own methods. */
export async function callIn(state: CallTableState, facts: CallFacts, world: StoreWorld): Promise<PlacedCall> {
  const { safe = false, replyTo = gateway } = facts;
  const plain = someCall({ safe });
  const call = { ...plain, job: { ...someJob(plain), replyTo } };
  const run =
    facts.run &&
    someRun({
      owner: gateway,
      detached: facts.run === 'detached',
      ...(facts.run === 'keyed' ? { idempotencyKey: 'key' } : {}),
    });
  const placed: PlacedCall = { call, run, fence: noClaim, earlierFence: noClaim };
  if (run !== undefined) await world.runs.begin(run);
  if (state === 'none') return placed;
  if (facts.signedIn) {
    await plan(placed, {}, world);
    await world.waitStore.park(signIn(placed));
    if (state === 'parked') return placed;
    await world.waits.connected(call.principal, 'hub');
    if (state === 'approved') return placed;
    await world.journal.replan(call.job);
  } else if (state === 'parked' || state === 'approved' || facts.approved) {
    await plan(placed, { approval }, world);
    if (state === 'parked') return placed;
    await world.waits.decide(approval.id, { decision: 'approve' }, caller);
    if (state === 'approved') return placed;
    await world.journal.replan(call.job);
  } else await plan(placed, {}, world);
  await loseWorkers(placed, facts, state, world);
  if (state === 'planned') return placed;
  await claim(placed, worker, facts, world);
  if (state === 'ended')
    await world.journal.end({ ...audit, callId: call.id, fence: placed.fence, outcome: someOutcome });
  return placed;
}

export const plan = (
  { call, run }: PlacedCall,
  members: Partial<PlannedCall>,
  { runs, journal }: StoreWorld,
): Promise<void> => {
  const planned = { ...call, ...members };
  return run === undefined
    ? journal.plan(planned, audit)
    : runs.planRound(someRound(run.id, { calls: [planned] }), audit);
};

async function claim(
  placed: PlacedCall,
  by: string,
  { asks }: CallFacts,
  { journal, waitStore }: StoreWorld,
): Promise<void> {
  const { id: callId } = placed.call;
  const claimed = await journal.claim({ callId, worker: by });
  placed.earlierFence = placed.fence;
  placed.fence = claimed!.fence;
  if (asks) await waitStore.ask(question(placed));
}

/** A planned call that was asked about had a worker before, too. */
async function loseWorkers(
  placed: PlacedCall,
  facts: CallFacts,
  state: CallTableState,
  world: StoreWorld,
): Promise<void> {
  const { asks = false, lost = asks && state === 'planned' ? 1 : 0 } = facts;
  for (let count = lost; count > 0; count -= 1) {
    await claim(placed, goneWorker, facts, world);
    await world.reap();
    world.queue.jobs.clear();
  }
}

export const question = ({ call, fence }: PlacedCall) => ({
  kind: 'question' as const,
  id: questionId,
  callId: call.id,
  fence,
  arguments: {},
  message: 'Which?',
  schema: {},
  expiresMs: 600_000,
  notify: false,
});

/** As the worker of the call writes it, which may have it without a claim. */
export const signIn = ({ call }: PlacedCall, fence?: string) => ({
  id: signInId,
  callId: call.id,
  fence,
  worker,
  server: 'hub',
  scopes: [],
  arguments: {},
  expiresMs: 600_000,
  maxWaiting: 100,
});
