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

/** Says only when it is told to that a job is in it. */
class SlowQueue extends MapQueue {
  answer!: () => void;
  readonly #answered = new Promise<void>((resolve) => (this.answer = resolve));

  override async add(...given: Parameters<MapQueue['add']>): Promise<void> {
    await super.add(...given);
    await this.#answered;
  }
}

/** Neither is asked for anything here. */
const channels = {} as Channels;
const journal = {} as Journal;

verifies('tools.early-progress-bounded', '1,000 reports before the queue has answered', async () => {
  const queue = new SlowQueue();
  const told: ToolProgress[] = [];
  const job = someJob(someCall());
  const call = new DispatchedCall(
    {
      queue,
      channels,
      journal,
      inbox: new ReplyInbox(channels, 'gateway-1', silentLogger),
      routes: new SessionRoutes({ takesJobs: () => true }),
      cancelGraceMs: 1_000,
      logger: silentLogger,
    },
    job,
    {
      audit: { requestId: 'req_1' },
      signal: new AbortController().signal,
      deadline: job.deadline,
      together: false,
      onProgress: (progress) => void told.push(progress),
    },
  );
  const ended = call.run();
  const { callId } = job;
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
