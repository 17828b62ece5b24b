import { expect } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import type { Channels } from '#libs/backing/channels.js';
import type { Journal } from '#libs/runs/run-store.js';
import { MapQueue } from '#libs/testing/map-queue.js';
import { someCall, someJob, someOutcome } from '#libs/testing/stored-rows.js';
import { verifies } from '../../../test/verifies.js';
import { DispatchedCall } from './dispatched-call.js';
import { ReplyInbox } from './reply-inbox.js';
import { SessionRoutes } from './session-routes.js';
import type { ToolProgress } from './tool-runner.js';

/** Says only when it is told to that a job is in it, or that it cannot tell. */
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

function open(queue: MapQueue, given: { journal?: Partial<Journal>; signal?: AbortSignal } = {}) {
  const { journal = {}, signal = new AbortController().signal } = given;
  // Told of calls that are cancelled, and nothing else.
  const channels = { publish: async () => undefined } as unknown as Channels;
  const told: ToolProgress[] = [];
  const job = someJob(someCall());
  const call = new DispatchedCall(
    {
      queue,
      channels,
      journal: journal as Journal,
      inbox: new ReplyInbox(channels, 'gateway-1', silentLogger),
      routes: new SessionRoutes({ takesJobs: () => true }),
      cancelGraceMs: 1_000,
      logger: silentLogger,
    },
    job,
    {
      audit: { requestId: 'req_1' },
      signal,
      deadline: job.deadline,
      together: false,
      onProgress: (progress) => void told.push(progress),
    },
  );
  return { call, callId: job.callId, told };
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

verifies('tools.early-progress-bounded', '1,000 reports before the queue has answered', async () => {
  const queue = new SlowQueue();
  const { call, callId, told } = open(queue);
  const ended = call.run();
  call.reply({ kind: 'started', callId, worker: 'worker-1' });
  for (let progress = 1; progress <= 1_000; progress += 1) call.reply({ kind: 'progress', callId, progress });
  expect(told).toEqual([]);
  queue.answer();
  call.reply({ kind: 'outcome', callId, outcome: someOutcome });
  expect(await ended).toEqual(someOutcome);
  expect(told.slice(0, 2)).toEqual([{ status: 'queued' }, { status: 'running' }]);
  expect(told).toHaveLength(1 + 64);
  expect(told.at(-1)).toEqual({ status: 'running', progress: 1_000 });
  expect(told.slice(2).map(({ progress }) => progress)).toEqual(told.slice(2).map((_, at) => 938 + at));
});
