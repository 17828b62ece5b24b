// The part of the conformance suite for jobs that share their place in the queue: each is delivered, none is lost with others.
import { describe, expect } from 'vitest';
import { type JobDelivery, type JobHandler, PutBack } from '#libs/backing/job-queue.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { eventually } from '../support/eventually.js';
import { verifies } from '../verifies.js';
import { Collected, makeJob, type MakeStore, never, sharedStore } from './conformance-store.js';

export function togetherConformance(makeStore: MakeStore): void {
  describe('queue, jobs that go together', () => {
    // `one` adds, as a gateway does, `two` takes, as a worker does.
    const shared = sharedStore(makeStore);

    const consuming = async (handler: JobHandler, body: () => Promise<void>) => {
      const consumer = await shared.two.consume(handler, { worker: 'w1', concurrency: 16 });
      try {
        await body();
      } finally {
        await consumer.drain(AbortSignal.timeout(5_000));
        await consumer.close();
      }
    };

    const addTogether = (job: ToolJob) => shared.one.queue.add(job, { signal: never(), together: true });

    verifies('backing.job-together', '40 of one moment, one of which is not done', async () => {
      const jobs = Array.from({ length: 40 }, () => makeJob());
      const ids = jobs.map(({ callId }) => callId);
      await Promise.all(jobs.map((job) => addTogether(job)));
      expect((await shared.one.queue.counts(never())).waiting).toBe(3);
      expect(await shared.one.queue.existing(ids, never())).toEqual(new Set(ids));
      expect(await shared.one.queue.remove(ids[0]!, never())).toBe(false);
      const taken = new Collected<JobDelivery>();
      const putBack = new Set(ids.slice(0, 1));
      await consuming(
        async (delivery) => {
          taken.add(delivery);
          if (putBack.delete(delivery.job.callId)) throw new PutBack('not now');
        },
        async () => {
          await taken.count(40 + 16);
          await eventually(async () => (await shared.one.queue.existing(ids, never())).size === 0);
        },
      );
      const [first, again] = [taken.items.slice(0, 40), taken.items.slice(40)];
      expect(first.map(({ job }) => job).sort(byId)).toEqual(jobs.toSorted(byId));
      expect(first.some(({ repeated }) => repeated)).toBe(false);
      expect(again.map(({ job }) => job.callId).sort()).toEqual(ids.slice(0, 16).sort());
      expect(again.every(({ repeated, redelivered }) => repeated === true && !redelivered)).toBe(true);
    });

    verifies('backing.job-together', 'all are given up before a worker comes: nothing is left of them', async () => {
      const jobs = Array.from({ length: 3 }, () => makeJob());
      await Promise.all(jobs.map((job) => addTogether(job)));
      const waiting = async () => (await shared.one.queue.counts(never())).waiting;
      const removed: boolean[] = [];
      for (const { callId } of [jobs[0]!, jobs[0]!, ...jobs]) {
        expect(await waiting()).toBe(1);
        removed.push(await shared.one.queue.remove(callId, never()));
      }
      expect(removed).toEqual([false, false, false, false, true]);
      expect(await waiting()).toBe(0);
    });

    verifies('backing.job-together', 'one that fails; one that is added again', async () => {
      const jobs = Array.from({ length: 4 }, () => makeJob());
      const taken = new Collected<JobDelivery>();
      await consuming(
        async (delivery) => {
          taken.add(delivery);
          if (delivery.job.callId === jobs[0]!.callId) throw new Error('it fails');
        },
        async () => {
          await Promise.all(jobs.map((job) => addTogether(job)));
          await taken.count(4);
          await shared.one.queue.add(jobs[1]!, { signal: never(), again: true });
          await taken.count(5);
        },
      );
      expect(taken.items.slice(0, 4).map(({ repeated }) => repeated)).toEqual(jobs.map(() => false));
      expect(taken.items[4]).toEqual({ job: jobs[1], redelivered: false, repeated: true });
    });
  });
}

const byId = (one: ToolJob, other: ToolJob): number => (one.callId < other.callId ? -1 : 1);
