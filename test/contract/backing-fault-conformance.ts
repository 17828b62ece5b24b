// The part of the conformance suite in which something fails: the network, the server, a worker.
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import type { Backing } from '#libs/backing/backing.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { type Logger, silentLogger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { eventually } from '../support/eventually.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';
import {
  Collected,
  type ConformanceStore,
  failureOf,
  makeJob,
  type MakeStore,
  never,
  succeeds,
  withBacking,
} from './conformance-store.js';

/** A call has two seconds; the rest is for a machine that does other things as well. */
const deadlineMs = 3_000;

export function faultConformance(makeStore: MakeStore): void {
  describe('faults', () => {
    let store: ConformanceStore;

    beforeAll(async () => {
      store = await makeStore();
    });
    afterEach(() => store.proxy.restore());
    afterAll(() => store?.drop());

    /** Every call of every port. */
    const calls = (backing: Backing, signal: AbortSignal): Record<string, () => Promise<unknown>> => ({
      add: () => backing.queue.add(makeJob(), { signal }),
      existing: () => backing.queue.existing(['call_1'], signal),
      remove: () => backing.queue.remove('call_1', signal),
      counts: () => backing.queue.counts(signal),
      ownQueues: () => backing.queue.ownQueues(signal),
      forgetWorker: () => backing.queue.forgetWorker('w', signal),
      publish: () => backing.channels.publish('workers', 'x', signal),
      useWindows: () => backing.counters.useWindows([{ key: 'k', take: 1, add: 0, limit: 1, windowMs: 1_200 }], signal),
      sharePlaces: () =>
        backing.counters.sharePlaces([{ key: 'k', holder: 'h', used: 0, wanted: 1, limit: 1, ttlMs: 1_000 }], signal),
      get: () => backing.cache.get('k', signal),
      set: () => backing.cache.set('k', 'v', 1_000, signal),
      delete: () => backing.cache.delete('k', signal),
      ping: () => backing.ping(signal),
    });

    /** Callers get these messages: they have no address. */
    const expectUnavailable = async (named: Record<string, () => Promise<unknown>>) => {
      const failures = await Promise.all(
        Object.entries(named).map(async ([name, call]) => ({ name, ...(await failureOf(call)) })),
      );
      for (const { name, error, ms } of failures) {
        expect(error, name).toBeInstanceOf(AppError);
        expect((error as AppError).code, name).toBe('store_unavailable');
        expect((error as AppError).message, name).not.toMatch(/127\.0\.0\.1|:\d{4}|\//);
        expect(ms, name).toBeLessThan(deadlineMs);
      }
    };

    const expectWorking = (backing: Backing) =>
      eventually(async () => {
        const results = await Promise.allSettled(Object.values(calls(backing, never())).map((call) => call()));
        return results.every((result) => result.status === 'fulfilled');
      }, 15_000);

    verifies('backing.away-answers-in-time', 'a silent server, then a refusing one, then back', async () => {
      await withBacking(store.options, async (backing) => {
        await Promise.all(Object.values(calls(backing, never())).map((call) => call()));
        store.proxy.silence();
        const subscribe = { subscribe: () => backing.channels.subscribe('never heard of', () => undefined) };
        await expectUnavailable({ ...calls(backing, never()), ...subscribe });
        const aborted = await failureOf(() => backing.cache.get('k', AbortSignal.timeout(50)));
        expect(aborted.ms).toBeLessThan(withinMs(1_000));
        store.proxy.refuse();
        await expectUnavailable({ ...calls(backing, never()), ...subscribe });
        store.proxy.restore();
        await expectWorking(backing);
      });
    });

    verifies('backing.away-answers-in-time', 'away at the start', async () => {
      for (const away of [store.proxy.silence, store.proxy.refuse]) {
        away();
        const { error, ms } = await failureOf(() => openBacking(store.options));
        expect((error as AppError).code).toBe('store_unavailable');
        const { databaseUrl, redisUrl = databaseUrl } = store.options;
        for (const { password } of [new URL(databaseUrl), new URL(redisUrl)])
          if (password !== '') expect((error as AppError).message).not.toContain(password);
        expect(ms).toBeLessThan(deadlineMs);
      }
    });

    verifies('backing.away-answers-in-time', 'closing while the server is silent', async () => {
      const backing = await openBacking(store.options);
      await backing.consume(async () => undefined, { worker: 'w1', concurrency: 4 });
      store.proxy.silence();
      const start = performance.now();
      await Promise.all([failureOf(() => backing.cache.get('k', never())), backing.close()]);
      expect(performance.now() - start).toBeLessThan(withinMs(10_000));
      await expectUnavailable(calls(backing, never()));
    });

    verifies('backing.consumer-comes-back', 'after an outage, without being told', async () => {
      await withBacking(store.options, async (backing) => {
        const taken = new Collected<string>();
        const consumer = await backing.consume(async ({ job }) => taken.add(job.callId), {
          worker: 'w1',
          concurrency: 4,
        });
        const [before, after, own] = [makeJob(), makeJob(), makeJob()];
        await backing.queue.add(before, { signal: never() });
        await taken.until((items) => items.includes(before.callId));
        store.proxy.refuse();
        await expectUnavailable({ ping: () => backing.ping(never()) });
        store.proxy.restore();
        await eventually(() => succeeds(backing.queue.add(after, { signal: never() })));
        await backing.queue.add(own, { signal: never(), worker: 'w1' });
        await taken.until((items) => [after, own].every((job) => items.includes(job.callId)), 8_000);
        await consumer.drain(AbortSignal.timeout(5_000));
      });
    });

    verifies('backing.job-outcome-survives', 'a job that ends while the store is away is not failed', async () => {
      const givenUp: unknown[] = [];
      const logger: Logger = { ...silentLogger, warn: ({ metadata }) => void givenUp.push(metadata?.['code']) };
      await withBacking({ ...store.options, logger }, async (backing) => {
        const job = makeJob();
        let finish = () => {};
        const taken = new Collected<boolean>();
        await backing.consume(
          async (delivery) => {
            // Others of this store's tests may still wait.
            if (delivery.job.callId !== job.callId) return;
            taken.add(delivery.redelivered);
            await new Promise<void>((resolve) => (finish = resolve));
          },
          { worker: 'w1', concurrency: 1 },
        );
        await backing.queue.add(job, { signal: never() });
        await taken.count(1);
        store.proxy.refuse();
        finish();
        await expectUnavailable({ ping: () => backing.ping(never()) });
        store.proxy.restore();
        // This job's own end: those of other tests may still run.
        await eventually(async () => {
          const left = await backing.queue.existing([job.callId], never()).catch(() => undefined);
          return left?.size === 0;
        });
        expect(givenUp.filter((code) => code !== undefined)).toEqual([]);
        expect(taken.items).toEqual([false]);
      });
    });

    verifies('backing.channel-reconnects', 'cut, and away for a while', async () => {
      await withBacking(store.options, async (backing) => {
        const heard = new Collected<string>();
        const reconnects = new Collected<string>();
        backing.channels.onReconnect(() => reconnects.add('again'));
        await backing.channels.subscribe('replies:g', heard.add);
        store.proxy.cut();
        await reconnects.count(1);
        await eventually(() => succeeds(backing.channels.publish('replies:g', 'after a cut')));
        await heard.count(1);
        store.proxy.refuse();
        await expectUnavailable({ ping: () => backing.ping(never()) });
        store.proxy.restore();
        await reconnects.count(2);
        await eventually(() => succeeds(backing.channels.publish('replies:g', 'after an outage')));
        await heard.count(2);
        expect(heard.items).toEqual(['after a cut', 'after an outage']);
      });
    });

    verifies('backing.channel-reconnects', 'a connection on which nothing arrives any more is found', async () => {
      await withBacking(store.options, async (backing) => {
        const reconnects = new Collected<string>();
        backing.channels.onReconnect(() => reconnects.add('again'));
        store.proxy.freeze();
        await reconnects.count(1);
      });
    });
  });
}
