// The part of the conformance suite in which 200 users of each port meet cut connections: what was refused may be tried
// again by its caller, what was accepted counts once.
import { describe, expect } from 'vitest';
import type { Backing } from '#libs/backing/backing.js';
import type { JobDelivery } from '#libs/backing/job-queue.js';
import { AppError } from '#libs/schemas/errors.js';
import { eventually } from '../support/eventually.js';
import { verifies } from '../verifies.js';
import { Collected, makeJob, type MakeStore, never, sharedStore } from './conformance-store.js';

const users = Array.from({ length: 200 }, (_, index) => index);

export function concurrencyConformance(makeStore: MakeStore): void {
  describe('200 users at once, connections cut in the middle', () => {
    const shared = sharedStore(makeStore);

    const of = (user: number): Backing => [shared.one, shared.two][user % 2]!;

    /** Every user, one after another in `rounds`; the connections are cut once within each. Answers what was accepted. */
    async function whileCut<T>(rounds: number, use: (user: number, round: number) => Promise<T>): Promise<T[]> {
      const accepted: T[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const cut = new Promise<void>((resolve) => setImmediate(resolve)).then(() => shared.store.proxy.cut());
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
        const pings = await Promise.allSettled([shared.one, shared.two].map((backing) => backing.ping(never())));
        return pings.every(({ status }) => status === 'fulfilled');
      });

    verifies(
      'backing.cut-loses-nothing',
      'jobs: 300 while connections are cut again and again',
      async () => {
        const taken = new Collected<JobDelivery>();
        const consumer = await shared.two.consume(
          async (delivery) => {
            taken.add(delivery);
            await new Promise((resolve) => setTimeout(resolve, 5));
          },
          { worker: 'w1', concurrency: 8 },
        );
        const accepted: string[] = [];
        for (let round = 0; round < 30; round += 1) {
          const jobs = Array.from({ length: 10 }, () => makeJob());
          if (round % 5 === 2) setImmediate(() => shared.store.proxy.cut());
          // One that is refused is its caller's to add again; one that is accepted must come.
          await Promise.allSettled(
            jobs.map(async (job) => {
              await shared.one.queue.add(job, { signal: never() });
              accepted.push(job.callId);
            }),
          );
        }
        // A job that was claimed in the moment of a cut comes again when its lock has run out.
        await taken.until((items) => {
          const ids = new Set(items.map((item) => item.job.callId));
          return accepted.every((id) => ids.has(id));
        }, 25_000);
        expect(accepted.length).toBeGreaterThan(200);
        const first = new Set<string>();
        const doubled = taken.items.filter(({ job, redelivered, repeated }) => {
          const again = first.has(job.callId);
          first.add(job.callId);
          return again && !redelivered && repeated !== true;
        });
        expect(doubled).toEqual([]);
        await eventually(async () => {
          const counts = await shared.one.queue.counts(never());
          return counts.waiting === 0 && counts.active === 0;
        }, 20_000);
        await consumer.close();
      },
      60_000,
    );

    verifies('backing.cut-loses-nothing', 'messages: none twice, in order, and all once it has come back', async () => {
      const heard = new Collected<string>();
      const again = new Collected<string>();
      shared.two.channels.onReconnect(() => again.add('again'));
      await Promise.all(users.map((user) => shared.two.channels.subscribe(`run:${user}`, heard.add)));
      await whileCut(2, (user, round) => shared.one.channels.publish(`run:${user}`, `${user} ${round}`));
      await again.count(2);
      expect(heard.items).toHaveLength(new Set(heard.items).size);
      const before = heard.items.length;
      await Promise.all(users.map((user) => shared.one.channels.publish(`run:${user}`, `${user} last`)));
      await heard.count(before + users.length);
      expect(new Set(heard.items.slice(before))).toEqual(new Set(users.map((user) => `${user} last`)));
    });

    verifies('backing.cut-loses-nothing', 'counts: each accepted add once; places: never one too many', async () => {
      const count = async (user: number) => {
        const use = { key: 'rate', take: 0, add: 1, limit: 0, windowMs: 60_000 };
        const [state] = await of(user).counters.useWindows([use], never());
        return -state!.left;
      };
      const totals = await whileCut(2, count);
      expect(new Set(totals).size).toBe(totals.length);
      expect(Math.max(...totals)).toBeLessThanOrEqual(2 * users.length);
      expect(await count(0)).toBeGreaterThan(totals.length);
      const share = async (user: number) => {
        const wants = { key: 'places', holder: `user ${user}`, used: 0, wanted: 1, limit: 7, ttlMs: 60_000 };
        const [places] = await of(user).counters.sharePlaces([wants], never());
        return places!;
      };
      await whileCut(2, share);
      const settled = await Promise.all(users.map(share));
      expect(settled.reduce((sum, places) => sum + places, 0)).toBeLessThanOrEqual(7);
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
