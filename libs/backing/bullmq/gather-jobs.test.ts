import { expect, test } from 'vitest';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { someCall, someJob } from '../../../test/support/stored-rows.js';
import { type Gathered, JobGatherer } from './gather-jobs.js';
import { queueSettings } from './queue-settings.js';

const { maxJobs, maxBytes, maxRemembered } = queueSettings.together;
const newJob = (given: Partial<ToolJob> = {}): ToolJob => ({ ...someJob(someCall()), ...given });
const newJobs = (count: number) => Array.from({ length: count }, () => newJob());

function gathering() {
  const added: Gathered[] = [];
  const gatherer = new JobGatherer(async (gathered) => {
    added.push(gathered);
  });
  return { added, gatherer, sizes: () => added.map(({ jobs }) => jobs.length) };
}

test('one alone goes under its own id, those of one turn of the event loop together', async () => {
  const { added, gatherer, sizes } = gathering();
  const alone = newJob();
  await gatherer.submit(alone);
  expect(added).toEqual([{ jobs: [alone], texts: [JSON.stringify(alone)] }]);
  expect(gatherer.carrierOf(alone.callId)).toBeUndefined();
  const jobs = newJobs(3);
  // Some come a few steps later.
  await Promise.all(
    jobs.map(async (job, index) => {
      for (let step = 0; step < index * 5; step += 1) await Promise.resolve();
      await gatherer.submit(job);
    }),
  );
  expect(sizes()).toEqual([1, 3]);
  expect(added[1]!.jobs).toEqual(jobs);
  for (const { callId } of jobs) expect(gatherer.carrierOf(callId)).toBe(added[1]!.id);
});

test('a job of the queue holds so many, so large, and no call twice', async () => {
  const { added, gatherer, sizes } = gathering();
  await Promise.all(newJobs(maxJobs + 1).map((job) => gatherer.submit(job)));
  expect(sizes()).toEqual([maxJobs, 1]);
  added.length = 0;
  const large = () => newJob({ arguments: { text: 'é'.repeat(maxBytes * 0.3) } });
  await Promise.all([newJob(), large(), large(), newJob()].map((job) => gatherer.submit(job)));
  expect(sizes()).toEqual([2, 2]);
  added.length = 0;
  const twice = newJob();
  await Promise.all([newJob(), twice, twice].map((job) => gatherer.submit(job)));
  expect(sizes()).toEqual([2, 1]);
});

test('what the queue says is said to each; a later try is another job', async () => {
  const ids: (string | undefined)[] = [];
  const gatherer = new JobGatherer(async ({ id }) => {
    ids.push(id);
    if (ids.length === 1) throw new Error('away');
  });
  const jobs = newJobs(2);
  const tries = await Promise.allSettled(jobs.map((job) => gatherer.submit(job)));
  expect(tries.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await Promise.all(jobs.map((job) => gatherer.submit(job)));
  expect(ids[0]).not.toBe(ids[1]);
  expect(gatherer.carrierOf(jobs[0]!.callId)).toBe(ids[1]);
});

test('a job is given up with the last of its calls, and counts anew where a call goes again', async () => {
  const { added, gatherer } = gathering();
  const [one, other] = newJobs(2) as [ToolJob, ToolJob];
  const alone = newJob();
  await gatherer.submit(alone);
  expect(gatherer.giveUp(alone.callId)).toBeUndefined();
  await Promise.all([one, other].map((job) => gatherer.submit(job)));
  expect(gatherer.giveUp(one.callId)).toBeUndefined();
  await Promise.all([one, newJob()].map((job) => gatherer.submit(job)));
  expect(gatherer.giveUp(one.callId)).toBeUndefined();
  expect(gatherer.giveUp(other.callId)).toBe(added[1]!.id);
});

test('of so many calls it is remembered where they went', async () => {
  const { gatherer } = gathering();
  const first = newJobs(2);
  await Promise.all(first.map((job) => gatherer.submit(job)));
  await Promise.all(newJobs(maxRemembered - 2).map((job) => gatherer.submit(job)));
  expect(gatherer.carrierOf(first[0]!.callId)).toBeDefined();
  await Promise.all(newJobs(2).map((job) => gatherer.submit(job)));
  expect(gatherer.carrierOf(first[0]!.callId)).toBeUndefined();
});
