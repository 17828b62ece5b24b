// The part of the conformance suite for counters and cache.
import { describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.js';
import { verifies } from '../verifies.js';
import { type MakeStore, never, sharedStore } from './conformance-store.js';

const cacheBounds = { maxRows: 64, maxBytes: 64 * 1024, maxValueBytes: 8 * 1024 };

export function memoryConformance(makeStore: MakeStore): void {
  const shared = sharedStore(makeStore, { cache: cacheBounds, sweepIntervalMs: 100 });

  describe('counters', () => {
    verifies('backing.windows-exact', '300 takes of 3 keys at once from two processes', async () => {
      const keys = ['window:a', 'window:b', 'window:c'];
      const states = await Promise.all(
        Array.from({ length: 300 }, async (_, index) => {
          const use = (key: string) => ({ key, take: 2, add: 0, limit: 101, windowMs: 60_000 });
          // In any order: two that want the same keys must not wait for each other.
          const order = index % 4 < 2 ? keys : [...keys].reverse();
          const { counters } = index % 2 === 0 ? shared.one : shared.two;
          const found = await counters.useWindows(order.map(use), never());
          return order.map((key, place) => ({ key, ...found[place]! }));
        }),
      );
      for (const key of keys) {
        const of = states.flat().filter((state) => state.key === key);
        expect(of.reduce((sum, { taken }) => sum + taken, 0)).toBe(101);
        for (const { taken, left, waitMs } of of.filter((state) => state.taken < 2)) {
          expect({ left, full: taken <= 1 }).toEqual({ left: 0, full: true });
          expect(waitMs).toBeGreaterThan(55_000 - 15_000);
          expect(waitMs).toBeLessThanOrEqual(65_000);
        }
      }
    });

    verifies(
      'backing.windows-exact',
      'what is given back can be taken, and more than there is room for can be counted',
      async () => {
        const use = async (take: number, add: number) => {
          const [state] = await shared.one.counters.useWindows(
            [{ key: 'window:back', take, add, limit: 10, windowMs: 60_000 }],
            never(),
          );
          return { taken: state!.taken, left: state!.left, waits: state!.waitMs > 0 };
        };
        expect(await use(8, 0)).toEqual({ taken: 8, left: 2, waits: false });
        expect(await use(5, -4)).toEqual({ taken: 5, left: 1, waits: false });
        expect(await use(0, 7)).toEqual({ taken: 0, left: -6, waits: true });
        expect(await use(3, 0)).toEqual({ taken: 0, left: -6, waits: true });
      },
    );

    verifies('backing.windows-exact', 'nothing that was taken can be taken again within the window', async () => {
      const windowMs = 600;
      const takes: { at: number; taken: number }[] = [];
      const began = performance.now();
      // Until the first has left the window.
      while (takes.filter(({ taken }) => taken > 0).length < 2) {
        const use = { key: 'window:slides', take: 5, add: 0, limit: 5, windowMs };
        const asked = performance.now();
        const [state] = await shared.two.counters.useWindows([use], never());
        takes.push({ at: takes.length === 0 ? performance.now() : asked, taken: state!.taken });
        if (asked - began > 10_000) throw new Error('the window never slid');
        await new Promise((resolve) => setTimeout(resolve, Math.min(state!.waitMs, 20)));
      }
      expect(takes[0]!.taken).toBe(5);
      expect(takes.at(-1)!.taken).toBe(5);
    });
  });

  describe('shared places', () => {
    const limit = 8;
    let keys = 0;
    /** Processes that share the places of a key of their own. */
    const sharing = (most = limit, ttlMs = 60_000) => {
      const key = `shared:${++keys}`;
      return async (holder: string, used: number, wanted: number) => {
        const { counters } = holder < 'm' ? shared.one : shared.two;
        const [places] = await counters.sharePlaces([{ key, holder, used, wanted, limit: most, ttlMs }], never());
        return places!;
      };
    };

    verifies('backing.shared-places', 'never more than the limit, whoever asks at once', async () => {
      const holders = ['a', 'b', 'n', 'o', 'p'];
      for (let round = 0; round < 20; round += 1) {
        const ask = sharing();
        const first = await Promise.all(holders.map((holder) => ask(holder, 0, 6)));
        expect(first.reduce((sum, places) => sum + places, 0)).toBeLessThanOrEqual(limit);
        // Everyone uses what it has, and asks on.
        const again = await Promise.all(holders.map((holder, at) => ask(holder, first[at]!, 6)));
        const inUse = again.map((places, at) => Math.max(places, first[at]!));
        expect(inUse.reduce((sum, places) => sum + places, 0)).toBeLessThanOrEqual(limit);
      }
    });

    verifies(
      'backing.shared-places',
      'an equal part for each, as places come free; the rest for who wants it',
      async () => {
        const ask = sharing();
        expect(await ask('a', 0, 20)).toBe(8);
        expect(await ask('n', 0, 1)).toBe(0);
        // It lacks one of them, and uses all eight.
        expect(await ask('a', 8, 20)).toBe(7);
        expect(await ask('n', 0, 1)).toBe(0);
        expect(await ask('a', 7, 20)).toBe(7);
        expect(await ask('n', 0, 1)).toBe(1);
        expect(await ask('n', 1, 20)).toBe(1);
        expect(await ask('a', 7, 20)).toBe(4);
        expect(await ask('a', 4, 20)).toBe(4);
        expect(await ask('n', 1, 20)).toBe(4);
        expect(await ask('a', 0, 0)).toBe(0);
        expect(await ask('n', 4, 20)).toBe(8);
      },
    );

    verifies('backing.shared-places', 'more holders than places: they take turns', async () => {
      const ask = sharing(1);
      expect(await ask('a', 0, 2)).toBe(1);
      expect(await ask('n', 0, 2)).toBe(0);
      expect(await ask('o', 0, 2)).toBe(0);
      expect(await ask('a', 1, 2)).toBe(0);
      expect(await ask('a', 0, 2)).toBe(0);
      expect(await ask('o', 0, 2)).toBe(0);
      expect(await ask('n', 0, 2)).toBe(1);
      expect(await ask('n', 0, 2)).toBe(0);
      expect(await ask('a', 0, 2)).toBe(0);
      expect(await ask('o', 0, 2)).toBe(1);
    });

    verifies('backing.shared-places', 'those of a holder that died are free after its lease', async () => {
      const ask = sharing(limit, 300);
      expect(await ask('dead', 0, 8)).toBe(8);
      expect(await ask('n', 0, 3)).toBe(0);
      await eventually(async () => (await ask('n', 0, 3)) === 3, 5_000);
    });

    verifies('backing.shared-places', 'many keys in one request, in any order', async () => {
      const share = (key: string, wanted: number) => ({ key, holder: 'h', used: 0, wanted, limit, ttlMs: 60_000 });
      const shares = ['many:c', 'many:a', 'many:b'].map((key, at) => share(key, at + 1));
      const both = [shares, [...shares].reverse()];
      const asked = Array.from({ length: 40 }, (_, at) =>
        shared[at % 2 === 0 ? 'one' : 'two'].counters.sharePlaces(both[at % 2]!, never()),
      );
      for (const [at, places] of (await Promise.all(asked)).entries()) {
        expect(places).toEqual(at % 2 === 0 ? [1, 2, 3] : [3, 2, 1]);
      }
      expect(await shared.one.counters.sharePlaces([], never())).toEqual([]);
    });
  });

  describe('cache', () => {
    verifies('backing.cache-shared', 'set, replaced, deleted, seen by another process', async () => {
      const text = 'a value with \u0000 and 😀';
      await shared.one.cache.set('key \u0000', text, 60_000, never());
      expect(await shared.two.cache.get('key \u0000', never())).toBe(text);
      await shared.two.cache.set('key \u0000', 'new', 60_000, never());
      expect(await shared.one.cache.get('key \u0000', never())).toBe('new');
      await shared.one.cache.delete('key \u0000', never());
      expect(await shared.two.cache.get('key \u0000', never())).toBeUndefined();
      const long = 'k'.repeat(10_000);
      await shared.one.cache.set(long, 'long', 60_000, never());
      expect(await shared.two.cache.get(long, never())).toBe('long');
      expect(await shared.two.cache.get(`${long}k`, never())).toBeUndefined();
    });

    verifies('backing.cache-expires', 'a value of 200 ms', async () => {
      await shared.one.cache.set('short', 'value', 200, never());
      await eventually(async () => (await shared.two.cache.get('short', never())) === undefined, 5_000);
    });

    verifies('backing.cache-bounded', 'in rows and bytes, oldest first; too large a value is not kept', async () => {
      await shared.one.cache.set('large', 'x'.repeat(cacheBounds.maxValueBytes), 60_000, never());
      expect(await shared.one.cache.get('large', never())).toHaveLength(cacheBounds.maxValueBytes);
      await shared.one.cache.set('large', 'x'.repeat(cacheBounds.maxValueBytes + 1), 60_000, never());
      expect(await shared.one.cache.get('large', never())).toBeUndefined();

      const present = async (names: readonly string[]) =>
        (await Promise.all(names.map((name) => shared.two.cache.get(name, never())))).filter(
          (value) => value !== undefined,
        );
      const small = Array.from({ length: 200 }, (_, index) => `small ${index}`);
      for (const name of small) await shared.one.cache.set(name, 'x', 60_000, never());
      const rows = (await present(small)).length;
      expect(rows).toBeGreaterThan(32);
      expect(rows).toBeLessThanOrEqual(cacheBounds.maxRows * 1.2);
      expect(await shared.two.cache.get(small.at(-1)!, never())).toBe('x');
      expect(await shared.two.cache.get(small[0]!, never())).toBeUndefined();

      const big = Array.from({ length: 40 }, (_, index) => `big ${index}`);
      for (const name of big) await shared.one.cache.set(name, 'x'.repeat(4096), 60_000, never());
      const bytes = (await present(big)).reduce((sum, value) => sum + value.length, 0);
      expect(bytes).toBeGreaterThan(cacheBounds.maxBytes / 2);
      expect(bytes).toBeLessThanOrEqual(cacheBounds.maxBytes * 1.2);
    });

    test('200 writers of one key', async () => {
      await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          [shared.one, shared.two][index % 2]!.cache.set('hot', `${index}`, 60_000, never()),
        ),
      );
      expect(Number(await shared.one.cache.get('hot', never()))).toBeLessThan(200);
    });
  });
}
