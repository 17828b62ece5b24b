// The part of the conformance suite with processes of their own: killed, blocked, started at once, ended.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Backing } from '#libs/backing/backing.js';
import type { JobDelivery } from '#libs/backing/job-queue.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { eventually } from '../support/eventually.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';
import { compileChild, type Child, type CompiledFile } from './compiled-child.js';
import { Collected, type ConformanceStore, makeJob, type MakeStore, never } from './conformance-store.js';

const blockMs = 17_000;

export function processConformance(makeStore: MakeStore): void {
  let child: CompiledFile;
  let store: ConformanceStore;
  let backing: Backing;
  let holding: Child;
  let blocked: Child;
  let killedAt: number;
  const taken = new Collected<JobDelivery & { at: number }>();
  const [held, blocking] = [makeJob(), makeJob()];

  // Outside the group: both deaths run their course together, while the tests of other groups run.
  beforeAll(async () => {
    child = await compileChild('test/contract/backing-child.ts');
    store = await makeStore();
    backing = await openBacking(store.options);
    holding = child.start({ backing: store.options, kind: 'hold' });
    await holding.event('ready');
    await backing.queue.add(held, { signal: never() });
    await holding.event('taken');
    blocked = child.start({ backing: store.options, kind: 'block', blockMs });
    await blocked.event('ready');
    await backing.queue.add(blocking, { signal: never() });
    await blocked.event('taken');
    await backing.consume(async (delivery) => taken.add({ ...delivery, at: Date.now() }), {
      worker: 'survivor',
      concurrency: 4,
    });
    holding.kill();
    killedAt = Date.now();
  });
  afterAll(async () => {
    for (const one of [holding, blocked]) one?.kill();
    await backing?.close();
    await store?.drop();
    await child?.remove();
  });

  describe('processes', () => {
    verifies('backing.opens-at-once', 'six processes on an empty store', async () => {
      const empty = await makeStore();
      try {
        const processes = Array.from({ length: 6 }, () => child.start({ backing: empty.options, kind: 'open' }));
        expect(await Promise.all(processes.map((one) => one.exited))).toEqual([0, 0, 0, 0, 0, 0]);
      } finally {
        await empty.drop();
      }
    });

    verifies('backing.closes-clean', 'the process ends by itself and leaves no connection', async () => {
      const applicationName = 'signalbox-closes-clean';
      const one = child.start({ backing: { ...store.options, applicationName }, kind: 'open' });
      await one.event('ready');
      await one.event('closed');
      const start = Date.now();
      expect(await one.exited).toBe(0);
      expect(Date.now() - start).toBeLessThan(withinMs(1_000));
      await eventually(async () => (await store.connections(applicationName)) === 0, 2_000);
    });

    verifies('backing.few-connections', 'a worker under load', async () => {
      const applicationName = 'signalbox-few-connections';
      const busy = await openBacking({ ...store.options, applicationName });
      try {
        await busy.consume(async () => undefined, { worker: 'busy', concurrency: 32 });
        await Promise.all(Array.from({ length: 200 }, () => busy.queue.counts(never())));
        expect(await store.connections(applicationName)).toBeLessThanOrEqual(11);
      } finally {
        await busy.close();
      }
      await eventually(async () => (await store.connections(applicationName)) === 0, 2_000);
    });

    verifies('backing.job-redelivered', 'a worker killed with SIGKILL', async () => {
      await taken.until((items) => items.some(({ job }) => job.callId === held.callId), 20_000);
      const again = taken.items.find(({ job }) => job.callId === held.callId)!;
      expect({ job: again.job, redelivered: again.redelivered }).toEqual({ job: held, redelivered: true });
      expect(again.at - killedAt).toBeLessThan(withinMs(15_000));
    });

    verifies(
      'backing.job-redelivered',
      'a loop blocked past the lock',
      async () => {
        await taken.until((items) => items.some(({ job }) => job.callId === blocking.callId), 20_000);
        await blocked.event('unblocked', blockMs + 5_000);
        // The old run's end is refused: the job's own outcome stands, and it comes no third time.
        const probe = makeJob();
        await backing.queue.add(probe, { signal: never() });
        await taken.until((items) => items.some(({ job }) => job.callId === probe.callId)).catch(() => undefined);
        await eventually(async () => (await backing.queue.counts(never())).active === 0);
        expect(taken.items.filter(({ job }) => job.callId === blocking.callId).map((item) => item.redelivered)).toEqual(
          [true],
        );
      },
      60_000,
    );
  });
}
