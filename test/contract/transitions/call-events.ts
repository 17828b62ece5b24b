// How each event of a call comes about, by the operation of the store that it causes, and how a call gets into each state.
import type { Wait } from '#libs/waits/wait.js';
import type { AuditContext, NewRun, PlannedCall } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { failedOutcome, skippedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { noUsage as usage } from '#libs/schemas/usage.js';
import type { CallEvent, CallTableState } from '../../../apps/gateway/turn/advance/call-table.js';
import { forever } from '../../support/runnable-call.js';
import { someCall, someJob, someOutcome, someRound, someRun } from '../../support/stored-rows.js';
import { gateway, goneGateway, goneWorker, type StoreWorld, worker } from './store-world.js';

const audit: AuditContext = { requestId: 'req_1' };
const caller = { principal: 'local', requestId: 'req_2', signal: new AbortController().signal, deadline: forever };

interface CallFacts {
  safe?: boolean;
  /** In a run of this kind; else outside of runs. */
  run?: 'plain' | 'keyed' | 'detached';
  /** It was parked before it was planned. */
  approved?: boolean;
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

export interface CallEventPath {
  facts?: CallFacts;
  /** Moves clocks and processes, and ends runs. */
  before?: (placed: PlacedCall, world: StoreWorld) => Promise<unknown>;
  apply: (placed: PlacedCall, world: StoreWorld, state: CallTableState) => Promise<unknown>;
}

const approval = { id: 'appr_1', argumentsHash: 'hash', expiresMs: 600_000, notify: false };
const questionId = 'appr_2';
const noClaim = '1';

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
  if (state === 'parked' || state === 'approved' || facts.approved) {
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

const plan = (
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

const question = ({ call, fence }: PlacedCall) => ({
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

const timedOut = failedOutcome('failed', 'tool_timeout', 'late');
const cancelled = failedOutcome('cancelled', 'cancelled', 'cancelled');
const safe: CallFacts = { safe: true };

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
const decides = (decision: 'approve' | 'deny'): CallEventPath => ({
  facts: { approved: true },
  apply: (_placed, { waits }) => waits.decide(approval.id, { decision }, caller),
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
