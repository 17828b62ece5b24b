// The part of the conformance suite for what the queue keeps: nothing of a job that has ended. And for a store that is full.
import { describe, expect } from 'vitest';
import { type JobHandler } from '#libs/backing/job-queue.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { eventually } from '../support/eventually.js';
import { verifies } from '../verifies.js';
import { Collected, makeJob, type MakeStore, never, sharedStore, succeeds } from './conformance-store.js';

export function keptConformance(makeStore: MakeStore): void {
  describe('queue, what is kept', () => {
    // `one` adds, as a gateway does, `two` takes, as a worker does.
    const shared = sharedStore(makeStore);

    const add = (job: ToolJob) => shared.one.queue.add(job, { signal: never() });

    const consuming = async (handler: JobHandler, body: () => Promise<void>) => {
      const consumer = await shared.two.consume(handler, { worker: 'w1', concurrency: 16 });
      try {
        await body();
      } finally {
        await consumer.drain(AbortSignal.timeout(5_000));
        await consumer.close();
      }
    };

    verifies('backing.job-again', 'completed, failed, waiting, running', async () => {
      const taken = new Collected<string>();
      const repeated: string[] = [];
      const again = (job: ToolJob) => shared.one.queue.add(job, { signal: never(), again: true });
      const [completed, failing, running] = [makeJob(), makeJob(), makeJob()];
      let finish = () => {};
      await consuming(
        async ({ job, repeated: isRepeated }) => {
          taken.add(job.callId);
          if (isRepeated === true) repeated.push(job.callId);
          if (job.callId === failing.callId) throw new Error('fails');
          if (job.callId === running.callId) await new Promise<void>((resolve) => (finish = resolve));
        },
        async () => {
          await Promise.all([add(completed), add(failing)]);
          await taken.count(2);
          await eventually(async () => (await shared.one.queue.counts(never())).active === 0);
          const ids = [completed.callId, failing.callId];
          expect(await shared.one.queue.existing(ids, never())).toEqual(new Set());
          await Promise.all([again(completed), again(failing), add(running)]);
          await taken.count(5);
          await Promise.all([again(running), again(running)]);
          expect(await shared.one.queue.existing([running.callId], never())).toEqual(new Set([running.callId]));
          finish();
          const last = makeJob();
          await add(last);
          await taken.until((items) => items.includes(last.callId));
        },
      );
      const times = (job: ToolJob) => taken.items.filter((callId) => callId === job.callId).length;
      expect([completed, failing, running].map(times)).toEqual([2, 2, 1]);
      expect(repeated.sort()).toEqual([completed.callId, failing.callId].sort());
      const waiting = makeJob();
      await Promise.all([again(waiting), again(waiting)]);
      expect((await shared.one.queue.counts(never())).waiting).toBe(1);
      expect(await shared.one.queue.remove(waiting.callId, never())).toBe(true);
    });

    verifies('backing.job-leaves-nothing', 'completed, failed, and what versions before kept', async () => {
      const [completed, failing, old] = [makeJob(), makeJob(), makeJob()];
      const { keeps, leaveEnded } = shared.store;
      await leaveEnded(old.callId);
      await Promise.all([add(completed), add(failing)]);
      expect(await Promise.all([completed, failing].map(({ callId }) => keeps(callId)))).toEqual([true, true]);
      const ids = [completed, failing, old].map(({ callId }) => callId);
      await consuming(
        async ({ job }) => {
          if (job.callId === failing.callId) throw new Error('fails');
        },
        () => eventually(async () => !(await Promise.all(ids.map(keeps))).includes(true)),
      );
    });

    verifies('backing.ping-writes', 'a store that answers, and takes nothing', async () => {
      const ping = () => succeeds(shared.one.ping(never()));
      expect(await ping()).toBe(true);
      await shared.store.takeNothing(true);
      try {
        await eventually(async () => (await shared.one.queue.counts(never()).catch(() => undefined)) !== undefined);
        const refused = { code: 'store_unavailable' };
        await expect(shared.one.ping(never())).rejects.toMatchObject(refused);
        await expect(add(makeJob())).rejects.toMatchObject(refused);
      } finally {
        await shared.store.takeNothing(false);
      }
      await eventually(ping);
    });
  });
}
