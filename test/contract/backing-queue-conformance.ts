// The queue's part of the conformance suite: what is added is delivered, once an id, in order, and can be looked at.
import { describe, expect, test } from 'vitest';
import { type JobConsumer, type JobDelivery, type JobHandler, PutBack } from '#libs/backing/job-queue.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { eventually } from '../support/eventually.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';
import { Collected, makeJob, type MakeStore, never, sharedStore } from './conformance-store.js';

export function queueConformance(makeStore: MakeStore): void {
  describe('queue', () => {
    // `one` adds, as a gateway does, `two` takes, as a worker does.
    const shared = sharedStore(makeStore);

    const add = (job: ToolJob, to?: string) =>
      shared.one.queue.add(job, { signal: never(), ...(to === undefined ? {} : { worker: to }) });

    const consuming = async (
      handler: JobHandler,
      body: (consumer: JobConsumer) => Promise<void>,
      options = { worker: 'w1', concurrency: 16 },
    ) => {
      const consumer = await shared.two.consume(handler, options);
      try {
        await body(consumer);
      } finally {
        await consumer.drain(AbortSignal.timeout(5_000));
        await consumer.close();
      }
    };

    verifies('backing.job-once', '200 adds of one id at once, and more while it runs', async () => {
      const taken = new Collected<JobDelivery>();
      let finish = () => {};
      const held = new Promise<void>((resolve) => (finish = resolve));
      const job = makeJob({ arguments: { text: 'NUL \u0000, half a pair \ud800, "quotes"', order: { b: 1, a: 2 } } });
      await consuming(
        async (delivery) => {
          taken.add(delivery);
          await held;
        },
        async () => {
          await Promise.all(Array.from({ length: 200 }, () => add(job)));
          await taken.count(1);
          await Promise.all([add(job), shared.one.queue.add(job, { signal: never(), again: true })]);
          finish();
          await eventually(async () => (await shared.one.queue.counts(never())).active === 0);
          const other = makeJob();
          await add(other);
          await taken.until((items) => items.some((item) => item.job.callId === other.callId));
          expect(taken.items.filter((item) => item.job.callId === job.callId)).toEqual([
            { job, redelivered: false, repeated: false },
          ]);
        },
      );
    });

    verifies('backing.job-delivered', '200 adds at once to two consumers', async () => {
      const taken = new Collected<string>();
      const jobs = Array.from({ length: 200 }, () => makeJob());
      const second = await shared.one.consume(async ({ job }) => taken.add(job.callId), {
        worker: 'w2',
        concurrency: 4,
      });
      await consuming(
        async ({ job }) => taken.add(job.callId),
        async () => {
          await Promise.all(jobs.map((job) => add(job)));
          await taken.count(200, 20_000);
        },
      );
      await second.drain(AbortSignal.timeout(5_000));
      await second.close();
      expect([...taken.items].sort()).toEqual(jobs.map((job) => job.callId).sort());
    });

    verifies('backing.job-worker-queue', 'of two workers only the named one', async () => {
      const mine = new Collected<string>();
      const others = new Collected<string>();
      const second = await shared.one.consume(async ({ job }) => others.add(job.callId), {
        worker: 'w2',
        concurrency: 4,
      });
      await consuming(
        async ({ job }) => mine.add(job.callId),
        async () => {
          const jobs = Array.from({ length: 20 }, () => makeJob());
          await Promise.all(jobs.map((job) => add(job, 'w1')));
          await mine.count(20);
          expect(others.items).toEqual([]);
        },
      );
      await second.drain(AbortSignal.timeout(5_000));
      await second.close();
    });

    verifies('backing.job-order', 'interactive jobs overtake batch ones', async () => {
      const jobs = ['batch', 'interactive', 'batch', 'interactive'].map((priority) =>
        makeJob({ priority: priority as ToolJob['priority'] }),
      );
      for (const job of jobs) await add(job);
      const taken = new Collected<string>();
      await consuming(
        async ({ job }) => taken.add(job.callId),
        async () => taken.count(4),
        { worker: 'w1', concurrency: 1 },
      );
      expect(taken.items).toEqual([jobs[1]!, jobs[3]!, jobs[0]!, jobs[2]!].map((job) => job.callId));
    });

    verifies('backing.job-drain', 'a long job ends, a waiting one stays', async () => {
      let finish = () => {};
      const started = new Collected<string>();
      const running = makeJob();
      const left = makeJob();
      const consumer = await shared.two.consume(
        async ({ job }) => {
          started.add(job.callId);
          if (job.callId === running.callId) await new Promise<void>((resolve) => (finish = resolve));
        },
        { worker: 'w1', concurrency: 1 },
      );
      await add(running);
      await started.count(1);
      const impatient = consumer.drain(AbortSignal.timeout(100));
      await expect(impatient).rejects.toThrow();
      await add(left);
      const drained = consumer.drain(AbortSignal.timeout(5_000));
      finish();
      await drained;
      const counts = await shared.one.queue.counts(never());
      await consumer.close();
      expect({ started: started.items, ...counts, oldestAgeMs: 0 }).toEqual({
        started: [running.callId],
        waiting: 1,
        active: 0,
        oldestAgeMs: 0,
      });
      expect(await shared.one.queue.remove(left.callId, never())).toBe(true);
    });

    verifies('backing.job-drain', 'an idle consumer stops at once', async () => {
      const consumer = await shared.two.consume(async () => undefined, { worker: 'w1', concurrency: 2 });
      const start = performance.now();
      await consumer.drain(AbortSignal.timeout(5_000));
      await consumer.close();
      expect(performance.now() - start).toBeLessThan(withinMs(1_000));
    });

    verifies('backing.job-put-back', 'a handler that does not know it, then one that does', async () => {
      const job = makeJob();
      const taken = new Collected<boolean>();
      await consuming(
        async ({ redelivered }) => {
          taken.add(redelivered);
          if (taken.items.length < 3) throw new PutBack();
        },
        async () => {
          await add(job);
          await taken.count(3);
        },
      );
      // Nobody died: the journal need not ask what became of it.
      expect(taken.items).toEqual([false, false, false]);
    });

    verifies('backing.job-put-back', 'a version of a later deploy stays in the queue', async () => {
      const job = { ...makeJob(), version: 99 } as unknown as ToolJob;
      const taken = new Collected<string>();
      await consuming(
        async (delivery) => taken.add(delivery.job.callId),
        async () => {
          await add(job);
          const known = makeJob();
          await add(known);
          await taken.until((items) => items.includes(known.callId));
        },
      );
      expect(taken.items).not.toContain(job.callId);
      expect(await shared.one.queue.existing([job.callId], never())).toEqual(new Set([job.callId]));
      expect(await shared.one.queue.remove(job.callId, never())).toBe(true);
    });

    verifies('backing.job-remove', 'waiting, running, ended, unknown', async () => {
      const job = makeJob();
      await add(job, 'w9');
      expect(await shared.one.queue.remove(job.callId, never())).toBe(true);
      expect(await shared.one.queue.remove(job.callId, never())).toBe(false);
      const running = makeJob();
      const taken = new Collected<string>();
      let finish = () => {};
      await consuming(
        async (delivery) => {
          taken.add(delivery.job.callId);
          await new Promise<void>((resolve) => (finish = resolve));
        },
        async () => {
          await add(running);
          await taken.count(1);
          expect(await shared.one.queue.remove(running.callId, never())).toBe(false);
          finish();
          await eventually(async () => (await shared.one.queue.counts(never())).active === 0);
          expect(await shared.one.queue.remove(running.callId, never())).toBe(false);
        },
      );
      expect(taken.items).toEqual([running.callId]);
    });

    verifies('backing.job-counts', 'waiting in two queues, not what failed, age of the oldest', async () => {
      expect(await shared.one.queue.counts(never())).toMatchObject({ waiting: 0, oldestAgeMs: 0 });
      const waiting = makeJob();
      await add(waiting, 'w9');
      await eventually(async () => (await shared.one.queue.counts(never())).oldestAgeMs >= 100);
      const failing = makeJob();
      await consuming(
        async () => {
          throw new Error('secret detail');
        },
        async () => {
          await add(failing);
          await eventually(async () => (await shared.one.queue.existing([failing.callId], never())).size === 0);
        },
      );
      expect((await shared.one.queue.counts(never())).waiting).toBe(1);
      const ids = [waiting.callId, failing.callId, 'call_unknown'];
      expect(await shared.one.queue.existing(ids, never())).toEqual(new Set([waiting.callId]));
    });

    verifies('backing.job-waiting-for', 'of either priority, its own only, not what runs', async () => {
      const jobs = [makeJob({ priority: 'batch' }), makeJob(), makeJob(), makeJob(), makeJob()];
      await add(jobs[3]!, 'w1');
      await add(jobs[4]!);
      const started = new Collected<string>();
      let finish = () => {};
      const running = new Promise<void>((resolve) => (finish = resolve));
      await consuming(
        async ({ job }) => {
          started.add(job.callId);
          await running;
        },
        async () => {
          await started.count(2);
          await Promise.all([add(jobs[0]!, 'w1'), add(jobs[1]!, 'w1'), add(jobs[2]!, 'w2')]);
          const waiting = await shared.one.queue.waitingFor('w1', never());
          expect(new Set(waiting)).toEqual(new Set([jobs[0], jobs[1]]));
          expect(await shared.one.queue.waitingFor('unknown', never())).toEqual([]);
          await Promise.all(jobs.map(({ callId }) => shared.one.queue.remove(callId, never())));
          finish();
        },
        { worker: 'w1', concurrency: 1 },
      );
    });

    verifies('backing.job-forget-worker', 'its jobs go, those of others stay', async () => {
      const [dead, alive, common] = [makeJob(), makeJob(), makeJob()];
      await add(dead, 'dead');
      await add(alive, 'alive');
      await add(common);
      expect(await shared.one.queue.ownQueues(never())).toEqual(expect.arrayContaining(['alive', 'dead']));
      await shared.one.queue.forgetWorker('dead', never());
      expect(await shared.one.queue.ownQueues(never())).not.toContain('dead');
      const ids = [dead.callId, alive.callId, common.callId];
      expect(await shared.one.queue.existing(ids, never())).toEqual(new Set([alive.callId, common.callId]));
      await Promise.all(ids.map((id) => shared.one.queue.remove(id, never())));
    });

    test('ids and worker names that BullMQ would refuse', async () => {
      const jobs = ['123', '%123', 'a:b', 'a%3Ab', '-5'].map((callId) => makeJob({ callId }));
      const taken = new Collected<string>();
      const worker = 'host:8001';
      await consuming(
        async ({ job }) => taken.add(job.callId),
        async () => {
          await Promise.all(jobs.map((job) => add(job, worker)));
          expect(await shared.one.queue.ownQueues(never())).toContain(worker);
          await taken.count(jobs.length);
        },
        { worker, concurrency: 2 },
      );
      expect([...taken.items].sort()).toEqual(jobs.map((job) => job.callId).sort());
    });
  });
}
