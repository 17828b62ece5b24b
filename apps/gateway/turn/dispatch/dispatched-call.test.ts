import { expect } from 'vitest';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { Channels } from '#libs/backing/channels.js';
import type { Wait } from '#libs/waits/wait.js';
import type { Journal, StoredCall } from '#libs/runs/run-store.js';
import { MapQueue } from '../../../../test/support/map-queue.js';
import { someCall, someJob, someOutcome } from '../../../../test/support/stored-rows.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { verifies } from '../../../../test/verifies.js';
import { HandedOver } from '../runs/active-runs.js';
import { DispatchedCall } from './dispatched-call.js';
import { LateCancels } from './late-cancels.js';
import { ReplyInbox } from './reply-inbox.js';
import { SessionRoutes } from './session-routes.js';
import type { ToolProgress } from './tool-runner.js';

/** Says only when it is emitted to that a job is in it, or that it cannot tell. */
class SlowQueue extends MapQueue {
  answer!: () => void;
  fail!: (error: Error) => void;
  readonly answered = new Promise<void>((resolve, reject) => {
    this.answer = resolve;
    this.fail = reject;
  });

  override async add(...given: Parameters<MapQueue['add']>): Promise<void> {
    await super.add(...given);
    await this.answered;
  }
}

interface Given {
  journal?: Partial<Journal>;
  signal?: AbortSignal;
  job?: Partial<ToolJob>;
  /** Questions that wait for an answer. */
  questions?: Wait[];
  parkedFor?: Wait[];
  /** Called with each request to a model. */
  onSampling?: (signal: AbortSignal) => void;
  context?: Partial<CallContext>;
  again?: boolean;
}

function open(queue: MapQueue, given: Given = {}) {
  const { journal = {}, signal = new AbortController().signal } = given;
  // Told of calls that are cancelled, and nothing else.
  const channels = { publish: async () => undefined } as unknown as Channels;
  const emitted: ToolProgress[] = [];
  const job = { ...someJob(someCall()), ...given.job };
  const call = new DispatchedCall(
    {
      queue,
      channels,
      journal: journal as Journal,
      inbox: new ReplyInbox(channels, 'gateway-1', silentLogger),
      routes: new SessionRoutes({ takesJobs: () => true }),
      lateCancels: new LateCancels({ journal: journal as Journal, onDropped: () => undefined }),
      waits: { open: async () => given.questions ?? [], byIds: async () => given.parkedFor ?? [] },
      sampling: { answer: async (_asked, _caller, signal) => given.onSampling?.(signal), open: async () => [] },
      cancelGraceMs: 1_000,
      logger: silentLogger,
    },
    {
      job,
      tool: { safe: false } as CatalogTool,
      context: { signal, deadline: new Deadline(job.deadline), ...given.context } as CallContext,
      audit: { requestId: 'req_1' },
      again: given.again ?? false,
    },
    (progress) => void emitted.push(progress),
  );
  return { call, callId: job.callId, emitted };
}

verifies('tools.slow-queue', 'the worker has answered, the queue has not', async () => {
  const { call, callId } = open(new SlowQueue());
  const ended = call.run();
  call.reply({ kind: 'started', callId, worker: 'worker-1' });
  call.reply({ kind: 'outcome', callId, outcome: someOutcome });
  expect(await ended).toEqual(someOutcome);
});

verifies('tools.slow-queue', 'the caller leaves before the queue has answered', async () => {
  const queue = new SlowQueue();
  const ends: string[] = [];
  const journal: Partial<Journal> = { end: async ({ outcome }) => ends.push(outcome.state) > 0 };
  const caller = new AbortController();
  const { call, callId } = open(queue, { journal, signal: caller.signal });
  const ended = call.run();
  expect([...queue.jobs.keys()]).toEqual([callId]);
  caller.abort(new Error('gone'));
  expect(await ended).toMatchObject({ state: 'cancelled' });
  expect([ends, [...queue.jobs]]).toEqual([['cancelled'], []]);
});

verifies('reliability.cancelled-between-workers', 'it is planned again at the end of the grace time', async () => {
  const caller = new AbortController();
  const planned = { ...someCall({ safe: true }), state: 'planned', fence: '1' } as unknown as StoredCall;
  const ends: (string | undefined)[] = [];
  const end: Journal['end'] = async ({ fence }) => ends.push(fence) > 0 && fence === undefined;
  const { call, callId } = open(new MapQueue(), { journal: { get: async () => planned, end }, signal: caller.signal });
  const ended = call.run();
  call.reply({ kind: 'started', callId, worker: 'worker-1' });
  caller.abort(new Error('gone'));
  expect(await ended).toMatchObject({ state: 'cancelled' });
  expect(ends).toEqual([undefined]);
});

verifies(
  'reliability.handed-over',
  'its run goes on elsewhere: the call stays as it is in queue and journal',
  async () => {
    const queue = new MapQueue();
    const ends: string[] = [];
    const journal: Partial<Journal> = { end: async ({ outcome }) => ends.push(outcome.state) > 0 };
    const gateway = new AbortController();
    const { call, callId } = open(queue, { journal, signal: gateway.signal });
    const ended = call.run();
    gateway.abort(new HandedOver());
    await expect(ended).rejects.toThrow(HandedOver);
    expect([ends, [...queue.jobs.keys()]]).toEqual([[], [callId]]);
  },
);

verifies('tools.slow-queue', 'a worker runs what the queue is not known to have', async () => {
  const queue = new SlowQueue();
  const { call, callId } = open(queue);
  const ended = call.run();
  call.reply({ kind: 'started', callId, worker: 'worker-1' });
  queue.fail(new Error('cut'));
  await expect(queue.answered).rejects.toThrow('cut');
  call.reply({ kind: 'outcome', callId, outcome: someOutcome });
  expect(await ended).toEqual(someOutcome);
});

const away = new AppError('store_unavailable', 'The store did not answer in time');

verifies('tools.refusal-means-nothing-ran', 'the queue has the call, and its answer was lost', async () => {
  const queue = new SlowQueue();
  const { call, callId } = open(queue, { journal: { cancelPlanned: async () => [] } });
  const ended = call.run();
  queue.fail(away);
  await expect(queue.answered).rejects.toThrow();
  await new Promise((resolve) => setImmediate(resolve));
  call.reply({ kind: 'outcome', callId, outcome: someOutcome });
  expect(await ended).toEqual(someOutcome);
});

verifies('tools.refusal-means-nothing-ran', 'neither queue nor journal can say', async () => {
  const states: string[] = [];
  for (const [members, ended] of [
    [{}, { state: 'indeterminate', error: { code: 'tool_outcome_unknown' } }],
    [{ safe: true }, away],
    [{ runId: 'run_1' }, away],
  ] as const) {
    const queue = new SlowQueue();
    let asked = 0;
    const cancelPlanned: Journal['cancelPlanned'] = async ([callId]) => {
      asked += 1;
      if (asked < 3) throw away;
      states.push(callId!);
      return [callId!];
    };
    const { call, callId } = open(queue, { journal: { cancelPlanned }, job: members });
    const run = call.run().catch((error: unknown) => error);
    queue.fail(away);
    expect(await run).toMatchObject(ended);
    // A run ends its calls itself; others are ended as soon as the journal takes it.
    if (!('runId' in members)) await expect.poll(() => states).toContain(callId);
  }
  expect(states).toHaveLength(2);
});

verifies('tools.planned-call-taken-up', 'the earlier job is gone, and this gateway is told', async () => {
  const earlier = someJob(someCall());
  const queue = new MapQueue();
  await queue.add(earlier);
  const replanned: string[] = [];
  const journal: Partial<Journal> = { replan: async ({ replyTo }) => replanned.push(replyTo) > 0 };
  const job = { callId: earlier.callId, replyTo: 'gateway-2' };
  const { call, callId } = open(queue, { journal, job, again: true });
  const ended = call.run();
  await expect.poll(() => queue.jobs.get(callId)?.replyTo).toBe('gateway-2');
  call.reply({ kind: 'outcome', callId, outcome: someOutcome });
  expect(await ended).toEqual(someOutcome);
  expect(replanned).toEqual(['gateway-2']);
});

verifies(
  'tools.planned-call-taken-up',
  'one that has begun or ended: what the journal says, no other job',
  async () => {
    const queue = new MapQueue();
    const stored = { ...someCall(), state: 'completed', outcome: someOutcome } as unknown as StoredCall;
    const { call } = open(queue, { journal: { replan: async () => false, get: async () => stored }, again: true });
    expect(await call.run()).toEqual(someOutcome);
    expect(queue.added).toEqual([]);
  },
);

verifies('tools.early-progress-bounded', '1,000 reports before the queue has answered', async () => {
  const queue = new SlowQueue();
  const { call, callId, emitted } = open(queue);
  const ended = call.run();
  call.reply({ kind: 'started', callId, worker: 'worker-1' });
  for (let progress = 1; progress <= 1_000; progress += 1) call.reply({ kind: 'progress', callId, progress });
  expect(emitted).toEqual([]);
  queue.answer();
  call.reply({ kind: 'outcome', callId, outcome: someOutcome });
  expect(await ended).toEqual(someOutcome);
  expect(emitted.slice(0, 2)).toEqual([{ status: 'queued' }, { status: 'running' }]);
  expect(emitted).toHaveLength(1 + 64);
  expect(emitted.at(-1)).toEqual({ status: 'running', progress: 1_000 });
  expect(emitted.slice(2).map(({ progress }) => progress)).toEqual(emitted.slice(2).map((_, at) => 938 + at));
});

const someQuestion = (callId: string) =>
  ({
    id: 'appr_1',
    callId,
    kind: 'question',
    name: 'book',
    rule: null,
    reason: null,
    expiresAt: new Date(Date.now() + 60_000),
  }) as Wait;
const canAsk = { questions: { expiresMs: 60_000, notify: false } };

verifies(
  'questions.word-lost',
  'its time is up: the store says that it asks; then that it does not any more',
  async () => {
    const questions: Wait[] = [];
    let state = 'dispatched';
    const journal: Partial<Journal> = {
      get: async () => ({ state, ...(state === 'completed' ? { outcome: someOutcome } : {}) }) as StoredCall,
    };
    const times = { timeoutMs: 50, maxTimeoutMs: 50, deadline: Date.now() + 30_000 };
    const job = { ...canAsk, ...times };
    const { call, callId, emitted } = open(new MapQueue(), { journal, job, questions, context: { questions: 'hold' } });
    questions.push(someQuestion(callId));
    const ended = call.run();
    call.reply({ kind: 'started', callId, worker: 'worker-1' });
    await expect.poll(() => emitted.at(-1)?.status).toBe('waiting_approval');
    expect(emitted.at(-1)?.asks).toBe(questions[0]);
    questions.pop();
    await expect.poll(() => emitted.at(-1)?.status, { timeout: 5_000 }).toBe('running');
    state = 'completed';
    call.gap();
    expect(await ended).toEqual(someOutcome);
  },
);

verifies(
  'sampling.held',
  'not the time of its turn, which ends the model call too; a caller that does not stay is not asked',
  async () => {
    const deadline = steadyNow() + 300;
    const journal: Partial<Journal> = {
      get: async () => ({ state: 'dispatched' }) as StoredCall,
      end: async () => true,
    };
    const questions: Wait[] = [];
    const signals: AbortSignal[] = [];
    const { call, callId, emitted } = open(new MapQueue(), {
      journal,
      job: { ...canAsk, timeoutMs: 20, maxTimeoutMs: 20, deadline },
      questions,
      onSampling: (signal) => signals.push(signal),
      context: { questions: 'return' },
    });
    questions.push({ ...someQuestion(callId), kind: 'sampling' });
    const ended = call.run();
    call.reply({ kind: 'started', callId, worker: 'worker-1' });
    call.reply({ kind: 'question', callId, open: true });
    expect(await ended).toMatchObject({ error: { code: 'tool_timeout' } });
    expect(steadyNow()).toBeGreaterThan(deadline);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(emitted.every(({ asks }) => asks === undefined)).toBe(true);
  },
);

verifies('questions.word-lost', 'a caller that does not stay is told, and the call is left alone', async () => {
  const stopped: string[] = [];
  const journal: Partial<Journal> = {
    get: async () => ({ state: 'dispatched' }) as StoredCall,
    end: async ({ callId }) => stopped.push(callId) > 0,
  };
  const questions: Wait[] = [];
  const caller = new AbortController();
  const given = { journal, job: canAsk, questions, signal: caller.signal, context: { questions: 'return' as const } };
  const { call, callId } = open(new MapQueue(), given);
  questions.push(someQuestion(callId));
  const left = expect(call.run()).rejects.toMatchObject({ approval: questions[0] });
  call.reply({ kind: 'question', callId, open: true });
  await left;
  caller.abort(new Error('gone'));
  await call.stop('cancelled');
  expect(stopped).toEqual([]);
});

verifies(
  'sign-ins.word-lost',
  'by polling, at the end of its time, and when the sign-in was made meanwhile',
  async () => {
    const journal: Partial<Journal> = {
      get: async () => ({ state: 'parked', waitId: 'appr_1' }) as StoredCall,
      end: async () => false,
    };
    for (const [job, state] of [
      [{ timeoutMs: 20, maxTimeoutMs: 20, deadline: steadyNow() + 20 }, 'waiting'],
      [{}, 'approved'],
    ] as const) {
      const wait: Wait = { ...someQuestion('call_1'), kind: 'sign_in', state };
      const { call } = open(new MapQueue(), { journal, job, parkedFor: [wait] });
      await expect(call.run()).rejects.toMatchObject({ approval: wait });
    }
  },
);
