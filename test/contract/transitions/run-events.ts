// How each event of a run comes about, by the operation of the store that it causes, and how a run gets into each state.
import type { NewRun, PlannedCall, RunEnd } from '#libs/runs/run-store.js';
import type { RequestContext, StoppableContext } from '#libs/schemas/call-context.js';
import { AppError, type ErrorCode } from '#libs/schemas/errors.js';
import { mintRunId } from '#libs/schemas/identifiers.js';
import { noUsage as usage } from '#libs/schemas/usage.js';
import { ApprovalNeeded } from '../../../apps/gateway/govern/approval-needed.js';
import type { RunEvent, RunTableState } from '../../../apps/gateway/turn/advance/run-table.js';
import { advanceDetached } from '../../../apps/gateway/turn/runs/advance-detached.js';
import { throwIfWaits } from '../../../apps/gateway/turn/runs/own-call-waits.js';
import { ActiveRuns } from '../../../apps/gateway/turn/runs/active-runs.js';
import { endOf } from '../../../apps/gateway/turn/runs/run-errors.js';
import { silentLogger } from '#libs/logging/logger.js';
import { forever } from '../../support/runnable-call.js';
import { someCall, someRound, someRun } from '../../support/stored-rows.js';
import { formerGateway, gateway, type StoreWorld } from './store-world.js';

const audit = { requestId: 'req_1' };

export interface RunFacts {
  keyed?: boolean;
  detached?: boolean;
  /** Its first round is stored, with these calls. */
  calls?: () => PlannedCall[];
  /** No model made its call. */
  own?: boolean;
  /** Another gateway has continued it since. */
  former?: boolean;
  adoptions?: number;
  /** Why it broke off. */
  error?: ErrorCode;
  sessionId?: string;
}

export interface RunEventPath {
  facts?: RunFacts;
  /** Moves clocks and processes. */
  before?: (run: NewRun, world: StoreWorld) => Promise<unknown>;
  apply: (run: NewRun, world: StoreWorld, state: RunTableState) => Promise<unknown>;
}

/** In this state, by the store's own methods. */
export async function runIn(state: RunTableState, facts: RunFacts, world: StoreWorld): Promise<NewRun> {
  const { keyed, detached = false, calls, own, former, adoptions = 0, error, sessionId = 'session-1' } = facts;
  const owner = former ? formerGateway : gateway;
  const run = someRun({ owner, detached, sessionId, ...(keyed ? { idempotencyKey: 'key' } : {}) });
  if (state === 'none') return run;
  const { runs, sessions } = world;
  if (facts.sessionId !== undefined) await sessions.ensure(run.principal, sessionId);
  await runs.begin(run);
  const round = { owner, calls: calls?.() ?? [], ...(own ? { provider: '', model: '' } : {}) };
  if (calls !== undefined) await runs.planRound(someRound(run.id, round), audit);
  const interrupt: RunEnd = { state: 'interrupted', usage, ...(error ? { error: { code: error } } : {}) };
  for (let count = former ? 1 : adoptions; count > 0; count -= 1) {
    await runs.end(run.id, owner, interrupt);
    await runs.adopt(run.id, gateway);
  }
  if (state === 'interrupted') await runs.end(run.id, gateway, interrupt);
  else if (state !== 'running') await runs.end(run.id, gateway, { ...interrupt, state });
  return run;
}

const plain: RunFacts = {};
const keyed: RunFacts = { keyed: true };
const detached: RunFacts = { detached: true };
const both: RunFacts = { keyed: true, detached: true };
const aRound = () => [someCall()];
const approval = { id: 'appr_1', argumentsHash: 'hash', expiresMs: 600_000, notify: false };
const parked = () => [someCall({ approval })];
const own: RunFacts = { ...both, own: true, calls: parked };
const updates =
  (statement: string) =>
  (_run: NewRun, { query }: StoreWorld) =>
    query(statement);

const ends =
  (end: Omit<RunEnd, 'usage'>) =>
  (run: NewRun, { runs }: StoreWorld) =>
    runs.end(run.id, run.owner, { usage, ...end });
const fails = (code: ErrorCode, facts: RunFacts): RunEventPath => ({
  facts,
  apply: (run, { runs }) => {
    const { signal } = new AbortController();
    const end = endOf(new AppError(code, 'failed'), signal, { ...run, underWay: facts.calls !== undefined });
    return runs.end(run.id, run.owner, end);
  },
});
/** The turn is stopped from outside; what its gateway then writes. */
const stopped = (
  facts: RunFacts,
  how: (activeRuns: ActiveRuns, runId: string, caller: StoppableContext) => void,
): RunEventPath => ({
  facts,
  apply: async (run, { runs }) => {
    const gone = new AbortController();
    const caller = {
      principal: run.principal,
      requestId: 'req_1',
      signal: gone.signal,
      deadline: forever,
      abort: (reason: AppError) => gone.abort(reason),
    };
    const activeRuns = new ActiveRuns();
    const { signal } = activeRuns.register(run.id, caller, run);
    how(activeRuns, run.id, caller);
    if (!signal.aborted) return undefined;
    return runs.end(run.id, run.owner, endOf(signal.reason, signal, { ...run, underWay: true }));
  },
});
const leaves = (_activeRuns: ActiveRuns, _runId: string, caller: StoppableContext) =>
  caller.abort(new AppError('cancelled', 'The client has gone'));
const stops = (activeRuns: ActiveRuns) => activeRuns.stopAll();
const alone = (facts: RunFacts, withKey = true): RunEventPath => ({
  facts,
  apply: async (_run, { runs }) => {
    for (const lone of await runs.interruptedDetached(10)) {
      await advanceDetached(lone, {
        gatewayId: gateway,
        runs,
        runner: { hasWorker: () => true },
        callerOf: async () => (withKey ? { principal: lone.principal } : undefined),
        advance: (run) => runs.adopt(run.id, gateway).then(() => undefined),
        turnMs: 60_000,
        logger: silentLogger,
      });
    }
  },
});
/** The run may be in progress: then it has no end. */
const endedFor =
  (interval: string) =>
  (run: NewRun, { query }: StoreWorld) =>
    query(`update runs set ended_at = ended_at - $2::interval where id = $1`, run.id, interval);
const sweep = (_run: NewRun, world: StoreWorld) => world.sweep();
const remove = async (run: NewRun, { runs }: StoreWorld) => {
  if (!(await runs.remove(run.principal, run.id)))
    throw new AppError((await runs.get(run.principal, run.id)) ? 'invalid_value' : 'response_not_found', 'refused');
};

export const runEvents: Record<RunEvent, RunEventPath> = {
  request: { apply: (run, { runs }) => runs.begin(run) },
  'request with a key': {
    facts: keyed,
    apply: async (run, { runs }) => {
      const { run: known } = await runs.begin(run);
      if (known.state === 'interrupted') await runs.adopt(run.id, gateway);
    },
  },
  'request with a key, its own call waits': {
    facts: own,
    apply: async (run, { runs, waitStore }) => {
      const { run: known } = await runs.begin(run);
      if (known.state !== 'interrupted') return;
      const context = { ...run, signal: new AbortController().signal, deadline: forever } as RequestContext;
      const asked = { open: (ids: readonly string[]) => waitStore.open(ids) };
      await throwIfWaits(known, context, { runs, waitStore, questions: asked });
    },
  },
  'request with a key, another body': {
    facts: keyed,
    apply: async (run, { runs }) => {
      const { run: known } = await runs.begin({ ...run, requestHash: 'another' });
      if (known.requestHash !== 'another') throw new AppError('idempotency_mismatch', 'refused');
    },
  },
  'request with a key, a day later': {
    facts: keyed,
    before: (run, { query }) =>
      query(`update runs set created_at = created_at - interval '25 hours' where id = $1`, run.id),
    apply: (run, { runs }) => runs.begin({ ...run, id: mintRunId() }),
  },
  'round planned': {
    apply: (run, { runs }, state) => {
      const beginning = state === 'none' ? runs.begin(run) : undefined;
      return Promise.all([
        beginning,
        runs.planRound(someRound(run.id, { round: 2, owner: run.owner, calls: aRound() }), audit),
      ]);
    },
  },
  'round planned by a former gateway': {
    facts: { former: true },
    apply: (run, { runs }) => runs.planRound(someRound(run.id, { round: 2, owner: run.owner, calls: aRound() }), audit),
  },
  answered: { apply: ends({ state: 'done', answer: { text: 'yes' } }) },
  'calls handed back': {
    facts: { calls: () => [...parked(), someCall({ kind: 'client' })] },
    apply: ends({ state: 'done', answer: { text: 'yes' } }),
  },
  'answered by a former gateway': { facts: { former: true }, apply: ends({ state: 'done' }) },
  'answered, store away': { apply: (run, { away }) => ends({ state: 'done' })(run, { runs: away.runs } as StoreWorld) },

  'failed, wrong request': fails('invalid_value', both),
  'failed, model away, plain': fails('model_unavailable', plain),
  'failed, model away, detached': fails('model_unavailable', { ...detached, calls: aRound }),
  'failed, model away, keyed': fails('model_unavailable', keyed),
  'failed, worker or store away, detached, no round': fails('no_worker', detached),
  'failed, worker or store away, detached, a round': fails('store_unavailable', { ...detached, calls: aRound }),

  'caller gone, plain': stopped(plain, leaves),
  'caller gone, keyed': stopped(keyed, leaves),
  'caller gone, detached': stopped(both, leaves),
  'cancel asked': {
    facts: both,
    apply: async (run, world, state) => {
      if (state !== 'running') return world.runs.cancel(run.principal, run.id);
      return stopped(both, (activeRuns, runId) => activeRuns.cancel(runId)).apply(run, world, state);
    },
  },
  'cancel asked, its gateway gone': { facts: both, apply: (run, { runs }) => runs.cancel(run.principal, run.id) },
  'gateway stopping, plain': stopped(plain, stops),
  'gateway stopping, keyed or detached': stopped(detached, stops),
  'gateway lost': { before: (_run, world) => world.lose(gateway), apply: sweep },
  'not under way at its gateway': { apply: (run, { runs }) => runs.interruptOrphans(run.owner, () => false) },

  due: alone(detached),
  'due, a call waits for a person': alone({ ...detached, calls: parked }),
  'due, keyed, no round': alone(both),
  'due, its own call never began': {
    ...alone({ ...own, calls: aRound }),
    before: updates("update tool_calls set state = 'cancelled'"),
  },
  'due, its own call approved': { ...alone(own), before: updates("update approvals set state = 'approved'") },
  'due, keyed, it had failed': alone({ ...both, calls: aRound, error: 'model_unavailable' }),
  'due, its API key withdrawn': alone(detached, false),
  'due, keyed, its API key withdrawn': alone({ ...both, calls: aRound }, false),
  'due, continued five times': alone({ ...detached, adoptions: 5 }),

  'its own call waits for a person': {
    facts: own,
    apply: async (run, { runs, waitStore }) => {
      const needed = new ApprovalNeeded((await waitStore.get(approval.id))!);
      return runs.end(run.id, run.owner, endOf(needed, new AbortController().signal, { ...run, underWay: true }));
    },
  },

  'ended 10 minutes ago': { before: endedFor('11 minutes'), apply: sweep },
  'ended 31 days ago, its session gone': { before: endedFor('31 days'), apply: sweep },
  deleted: { apply: remove },
  'deleted, one of its calls open': { facts: { ...detached, calls: parked }, apply: remove },
  'its session deleted': {
    facts: { sessionId: 'session-2' },
    apply: async (run, { sessions }) => void (await sessions.delete(run.principal, run.sessionId!)),
  },
};
