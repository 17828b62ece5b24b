// The part of the conformance suite in which 200 users of each port meet cut connections: what was refused may be tried
// again by its caller, what was accepted counts once.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Backing } from '#libs/backing/backing.js';
import type { JobDelivery } from '#libs/backing/job-queue.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { AppError } from '#libs/schemas/errors.js';
import { eventually } from '#libs/testing/eventually.js';
import { verifies } from '../verifies.js';
import { Collected, type ConformanceStore, makeJob, type MakeStore, never } from './conformance-store.js';

const users = Array.from({ length: 200 }, (_, index) => index);

export function concurrencyConformance(makeStore: MakeStore): void {
  describe('200 users at once, connections cut in the middle', () => {
    let store: ConformanceStore;
    let one: Backing;
    let two: Backing;

    beforeAll(async () => {
      store = await makeStore();
      one = await openBacking(store.options);
      two = await openBacking(store.options);
    });
    afterAll(async () => {
      await Promise.all([one?.close(), two?.close()]);
      await store?.drop();
    });

    const of = (user: number): Backing => [one, two][user % 2]!;

    /** Every user, one after another in `rounds`; the connections are cut once within each. Answers what was accepted. */
    async function whileCut<T>(rounds: number, use: (user: number, round: number) => Promise<T>): Promise<T[]> {
      const accepted: T[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const cut = new Promise<void>((resolve) => setImmediate(resolve)).then(() => store.proxy.cut());
        const results = await Promise.allSettled(users.map((user) => use(user, round)));
        await cut;
        for (const result of results) {
          if (result.status === 'fulfilled') accepted.push(result.value);
          else expect((result.reason as AppError).code, String(result.reason)).toBe('store_unavailable');
        }
        await serving();
      }
      return accepted;
    }

    const serving = () =>
      eventually(async () => {
        const pings = await Promise.allSettled([one, two].map((backing) => backing.ping(never())));
        return pings.every(({ status }) => status === 'fulfilled');
      });

    verifies(
      'backing.cut-loses-nothing',
      'jobs: each accepted one once',
      async () => {
        const taken = new Collected<JobDelivery>();
        const consumer = await two.consume(async (delivery) => taken.add(delivery), { worker: 'w', concurrency: 16 });
        const accepted = await whileCut(2, async (user) => {
          const job = makeJob();
          await of(user).queue.add(job, { signal: never() });
          return job.callId;
        });
        expect(accepted.length).toBeGreaterThan(users.length);
        const has = (items: readonly JobDelivery[]) => new Set(items.map(({ job }) => job.callId));
        await taken.until((items) => accepted.every((id) => has(items).has(id)), 25_000);
        const fresh = taken.items.filter(({ redelivered }) => !redelivered).map(({ job }) => job.callId);
        expect(fresh).toHaveLength(new Set(fresh).size);
        await consumer.close();
      },
      60_000,
    );

    verifies('backing.cut-loses-nothing', 'messages: none twice, in order, and all once it has come back', async () => {
      const heard = new Collected<string>();
      const again = new Collected<string>();
      two.channels.onReconnect(() => again.add('again'));
      await Promise.all(users.map((user) => two.channels.subscribe(`run:${user}`, heard.add)));
      await whileCut(2, (user, round) => one.channels.publish(`run:${user}`, `${user} ${round}`));
      await again.count(2);
      expect(heard.items).toHaveLength(new Set(heard.items).size);
      const before = heard.items.length;
      await Promise.all(users.map((user) => one.channels.publish(`run:${user}`, `${user} last`)));
      await heard.count(before + users.length);
      expect(new Set(heard.items.slice(before))).toEqual(new Set(users.map((user) => `${user} last`)));
    });

    verifies('backing.cut-loses-nothing', 'counts: each accepted add once; places: never one too many', async () => {
      const sums = await whileCut(2, (user) => of(user).counters.add('rate', 1, 60_000, never()));
      const totals = sums.map(({ total }) => total);
      expect(new Set(totals).size).toBe(totals.length);
      expect(Math.max(...totals)).toBeLessThanOrEqual(2 * users.length);
      const after = await one.counters.add('rate', 1, 60_000, never());
      expect(after.total).toBeGreaterThan(totals.length);
      const taken = await whileCut(2, (user) =>
        of(user).counters.acquire('places', `user ${user}`, 7, 60_000, never()),
      );
      expect(taken.filter(Boolean).length).toBeLessThanOrEqual(2 * 7);
      const settled = await Promise.all(
        users.map((user) => of(user).counters.acquire('places', `user ${user}`, 7, 60_000, never())),
      );
      expect(settled.filter(Boolean)).toHaveLength(7);
    });

    verifies('backing.cut-loses-nothing', 'the cache: what was set is read', async () => {
      const set = await whileCut(2, async (user, round) => {
        await of(user).cache.set(`key ${user} ${round}`, `value ${user} ${round}`, 60_000, never());
        return `${user} ${round}`;
      });
      const read = await Promise.all(set.map((name) => of(set.indexOf(name)).cache.get(`key ${name}`, never())));
      expect(read).toEqual(set.map((name) => `value ${name}`));
    });
  });
}
