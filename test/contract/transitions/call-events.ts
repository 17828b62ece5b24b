// How each event of a call comes about, by the operation of the store that it causes.
import type { Wait } from '#libs/waits/wait.js';
import type { PlannedCall } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { failedOutcome, skippedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { noUsage as usage } from '#libs/schemas/usage.js';
import type { CallEvent, CallTableState } from '../../../apps/gateway/turn/advance/call-table.js';
import { forever } from '../../support/runnable-call.js';
import { someCall, someOutcome } from '../../support/stored-rows.js';
import {
  approval,
  audit,
  caller,
  type CallFacts,
  noClaim,
  plan,
  type PlacedCall,
  question,
  questionId,
  signIn,
  signInId,
} from './place-call.js';
import { gateway, goneGateway, goneWorker, type StoreWorld, worker } from './store-world.js';

export interface CallEventPath {
  facts?: CallFacts;
  /** Moves clocks and processes, and ends runs. */
  before?: (placed: PlacedCall, world: StoreWorld) => Promise<unknown>;
  apply: (placed: PlacedCall, world: StoreWorld, state: CallTableState) => Promise<unknown>;
}

const timedOut = failedOutcome('failed', 'tool_timeout', 'late');
const cancelled = failedOutcome('cancelled', 'cancelled', 'cancelled');
const safe: CallFacts = { safe: true };
const signedIn: CallFacts = { signedIn: true };

const plans = (members: Partial<PlannedCall>): CallEventPath => ({
  apply: (placed, world) => plan(placed, members, world),
});
const ends = (
  outcome: ToolOutcome,
  claimOf: (placed: PlacedCall) => { fence?: string; worker?: string },
  facts: CallFacts = {},
): CallEventPath => ({
  facts,
  apply: (placed, { journal }) => journal.end({ ...audit, callId: placed.call.id, outcome, ...claimOf(placed) }),
});
const decides = (
  decision: 'approve' | 'deny',
  id = approval.id,
  facts: CallFacts = { approved: true },
): CallEventPath => ({
  facts,
  apply: (_placed, { waits }) => waits.decide(id, { decision }, caller),
});
const sweeps = (facts: CallFacts, before: CallEventPath['before']): CallEventPath => ({
  facts,
  ...(before && { before }),
  apply: (_placed, world) => world.sweep(),
});
const delivers = (facts: CallFacts, workerIs: 'alive' | 'gone' = 'alive'): CallEventPath => ({
  facts,
  apply: async ({ call }, { journal }) => {
    const claimed = await journal.claim({ callId: call.id, worker });
    const stored = claimed === undefined ? await journal.get(call.id) : undefined;
    if (workerIs === 'alive' || stored?.state !== 'dispatched') return claimed;
    const outcome = failedOutcome('indeterminate', 'tool_outcome_unknown', 'unknown');
    return journal.end({ ...audit, callId: call.id, fence: stored.fence!, outcome });
  },
});
/** An approved call outside of runs is left as it is. */
const refuses = (facts: CallFacts): CallEventPath => ({
  facts,
  apply: async ({ call, run }, { journal }, state) => {
    const full = new AppError('queue_full', 'full');
    if (state === 'approved' && run === undefined) throw full;
    return journal.cancelPlanned([call.id], audit, full);
  },
});
/** A parked call is waited for by its turn, which only stops waiting. `silent`: its worker has not ended it in time. */
const stops = (outcome: ToolOutcome, silent = false, facts: CallFacts = {}): CallEventPath => ({
  facts,
  apply: async ({ call, fence }, { journal, waits }, state) => {
    if (state === 'parked')
      return untilAborted(waits.decided(approval.id, { signal: AbortSignal.abort('over'), deadline: forever }));
    const end = { ...audit, callId: call.id, outcome };
    const claimed = silent && (await journal.get(call.id))?.state === 'dispatched';
    return journal.end(claimed ? { ...end, fence } : end);
  },
});
const untilAborted = (waiting: Promise<Wait>) =>
  waiting.then(
    () => {
      throw new Error('It waited no longer');
    },
    (reason: unknown) => {
      if (reason !== 'over') throw reason;
    },
  );
const loses = (process: string) => (_placed: PlacedCall, world: StoreWorld) => world.lose(process);
const moves =
  (statement: string) =>
  (_placed: PlacedCall, { query }: StoreWorld) =>
    query(statement);
const endsRun =
  (state: 'done' | 'failed' | 'interrupted') =>
  ({ run }: PlacedCall, { runs }: StoreWorld) =>
    runs.end(run!.id, gateway, { state, usage });
const leftFor = async (placed: PlacedCall, world: StoreWorld): Promise<void> => {
  await endsRun('interrupted')(placed, world);
  await world.query(`update runs set ended_at = ended_at - interval '11 minutes'`);
};

export const callEvents: Record<CallEvent, CallEventPath> = {
  'planned, allowed': plans({}),
  'planned, needs approval': plans({ approval }),
  'planned, needs approval, one like it found no place': {
    before: async ({ call }, { journal, waitStore }) => {
      const earlier = { ...call, id: someCall().id, approval: { ...approval, id: 'appr_3' } };
      await journal.plan(earlier, audit);
      await waitStore.decide((await waitStore.get('appr_3'))!, { decision: 'approve' }, caller);
      await journal.cancelPlanned([earlier.id], audit, new AppError('queue_full', 'full'));
    },
    apply: async (placed, world, state) => {
      const { id, principal, name, definitionHash } = placed.call;
      const like = { principal, name, definitionHash, argumentsHash: approval.argumentsHash, inRun: false };
      const given = state === 'none' ? await world.waitStore.takeUnused(id, like) : undefined;
      await plan(placed, given === undefined ? {} : { approvedBefore: { id: given.id, approver: 'local' } }, world);
    },
  },
  'planned, refused': plans({ outcome: failedOutcome('denied', 'tool_denied', 'denied') }),
  'refused a place, own call': refuses({}),
  'refused a place, in a chat': refuses({ run: 'plain' }),
  'skipped, the call before it asks': ends(skippedOutcome, () => ({})),
  'a kept result answers': ends({ ...someOutcome, cached: true }, () => ({})),

  approved: decides('approve'),
  'approved, edited': {
    facts: { approved: true },
    apply: async (_placed, { waitStore }) => {
      const stored = await waitStore.get(approval.id);
      if (stored === undefined) throw new AppError('approval_not_found', 'refused');
      const given = await waitStore.decide(stored, { decision: 'approve', arguments: { path: 'other.md' } }, caller);
      if (given === undefined) throw new AppError('approval_already_decided', 'refused');
    },
  },
  'approved, its run is over': {
    facts: { approved: true, run: 'plain' },
    before: endsRun('failed'),
    apply: async (_placed, { waits }, state) => {
      const refused = waits.decide(approval.id, { decision: 'approve' }, caller);
      await (state === 'parked' ? refused.catch(onlyCode('approval_already_decided')) : refused);
    },
  },
  denied: decides('deny'),
  'approval expired': sweeps({ approved: true }, moves('update approvals set expires_at = clock_timestamp()')),
  'approval not used for a day': sweeps(
    { approved: true },
    moves(`update approvals set decided_at = decided_at - interval '25 hours'`),
  ),

  claimed: delivers({}),
  'delivered again, safe': delivers(safe),
  'delivered again, unsafe, its worker lives': delivers({}),
  'delivered again, unsafe, its worker gone': delivers({}, 'gone'),
  'taken up': { apply: ({ call }, { journal }) => journal.replan({ ...call.job!, replyTo: 'gateway-2' }) },
  'job lost from the queue': sweeps({ replyTo: goneGateway }, undefined),

  'asks a question': { apply: (placed, { waitStore }) => waitStore.ask(question(placed)) },
  'question answered': {
    facts: { ...safe, asks: true },
    apply: async (_placed, { waitStore }) =>
      waitStore.decide((await waitStore.get(questionId))!, { decision: 'approve', arguments: {} }, caller),
  },
  'question expired': sweeps(
    { ...safe, asks: true },
    moves(`update approvals set expires_at = clock_timestamp() where id = '${questionId}'`),
  ),

  'a sign-in is needed': {
    facts: safe,
    apply: (placed, { waitStore }, state) =>
      waitStore.park(signIn(placed, state === 'dispatched' ? placed.fence : undefined)),
  },
  'signed in': { facts: signedIn, apply: ({ call }, { waits }) => waits.connected(call.principal, 'hub') },
  'sign-in refused': decides('deny', signInId, signedIn),
  'sign-in expired': sweeps(signedIn, moves('update approvals set expires_at = clock_timestamp()')),
  'signed in, not used for a day': sweeps(
    signedIn,
    moves(`update approvals set decided_at = decided_at - interval '25 hours'`),
  ),

  outcome: ends(someOutcome, ({ fence }) => ({ fence, worker })),
  'outcome, not claimed, safe': ends(someOutcome, () => ({ worker: 'worker-2' }), safe),
  'outcome, its claim unanswered, safe': ends(someOutcome, () => ({ worker }), safe),
  'outcome of an earlier claim': ends(
    someOutcome,
    ({ fence, earlierFence }) => ({ fence: earlierFence === noClaim ? fence : earlierFence, worker: goneWorker }),
    { ...safe, lost: 1 },
  ),
  'outcome, store away': {
    apply: ({ call, fence }, { away }) => away.journal.end({ ...audit, callId: call.id, fence, outcome: someOutcome }),
  },
  'late or cancelled before its worker began': ends(timedOut, () => ({ worker })),

  'cancel asked': stops(cancelled),
  'gateway stopping, plain run': stops(cancelled),
  'gateway stopping, keyed or detached run': sweeps({ run: 'keyed' }, endsRun('interrupted')),
  'cancel asked, its worker silent': stops(cancelled, true),
  'cancel asked, its worker lost, safe': stops(cancelled, true, { ...safe, lost: 1 }),
  'time is up': stops(timedOut),
  'time is up, its worker silent': stops(timedOut, true),

  'worker lost, unsafe': sweeps({}, loses(worker)),
  'worker lost, safe': sweeps(safe, loses(worker)),
  'worker lost, safe, the third': sweeps({ ...safe, lost: 2 }, loses(worker)),
  'gateway lost, no run': sweeps({}, async ({ call }, { queue, lose }) => {
    await queue.add(call.job!);
    await lose(gateway);
  }),
  'gateway lost, plain run': sweeps({ run: 'plain' }, loses(gateway)),
  'gateway lost, keyed or detached run': sweeps({ run: 'keyed' }, async (placed, world) => {
    // Most of it may have been waiting for a person.
    await world.query(`update runs set created_at = created_at - interval '1 hour'`);
    await world.lose(gateway);
  }),

  'run done': sweeps({ run: 'plain' }, endsRun('done')),
  'run done, taken up by a later turn': sweeps({ run: 'plain', approved: true }, endsRun('done')),
  'run failed or cancelled': sweeps({ run: 'detached' }, endsRun('failed')),
  'keyed run left for 10 minutes': sweeps({ run: 'keyed' }, leftFor),
  'detached run left for 10 minutes': sweeps({ run: 'detached' }, leftFor),
  'not begun 10 minutes after its time': sweeps(
    {},
    moves(`update tool_calls set planned_at = planned_at
    - (time_budget_ms + 640000) * interval '1 millisecond'`),
  ),
  'ended a day ago, its session gone': sweeps(
    {},
    moves(`update tool_calls set ended_at = ended_at - interval '25 hours'`),
  ),
};

function onlyCode(code: string) {
  return (error: unknown): void => {
    if (!(error instanceof AppError) || error.code !== code) throw error;
  };
}
