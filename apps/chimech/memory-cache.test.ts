import { expect, test } from 'vitest';
import { MemoryCache } from './memory-cache.js';

test('values end with their time, and the oldest go when there is no more room', async () => {
  let now = 0;
  const cache = new MemoryCache(() => now);
  await cache.set('a', 'x', 10);
  expect(await cache.get('a')).toBe('x');
  now = 10;
  expect(await cache.get('a')).toBeUndefined();
  for (let entry = 0; entry <= 2_000; entry += 1) await cache.set(`k${entry}`, 'v', 1_000);
  expect([await cache.get('k0'), await cache.get('k2000')]).toEqual([undefined, 'v']);
  const large = 'v'.repeat(256 * 1024);
  for (let entry = 0; entry < 17; entry += 1) await cache.set(`large${entry}`, large, 1_000);
  expect([await cache.get('large0'), await cache.get('large16')]).toEqual([undefined, large]);
  await cache.set('large16', `${large}v`, 1_000);
  expect(await cache.get('large16')).toBeUndefined();
  await cache.set('b', 'y', 1_000);
  await cache.delete('b');
  expect(await cache.get('b')).toBeUndefined();
});
