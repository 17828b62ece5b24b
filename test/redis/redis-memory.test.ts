// What Redis holds is bounded in bytes, whatever callers send: nothing of calls that have ended, and little of those that wait.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openBacking } from '#libs/backing/open-backing.js';
import { readConfig } from '#libs/config/read-config.js';
import { maxCarriedArgumentsBytes } from '#libs/schemas/tool-job.js';
import { noRedis } from '../support/services/redis-server.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { startRedis, type TestRedis } from '../support/services/start-redis.js';
import { makeJob, never } from '../contract/conformance-store.js';
import { OutageProbe } from '../support/outage-probe.js';
import { verifies } from '../verifies.js';

const mebibyte = 1024 * 1024;
/** Of a full cache, in Redis: 128 MiB of values, what Redis adds to each, and the index. */
const cacheBytes = 160 * mebibyte;

async function memoryOf({ client }: TestRedis, what: 'used_memory' | 'used_memory_peak'): Promise<number> {
  const text = await client.info('memory');
  return Number(new RegExp(`^${what}:(\\d+)`, 'm').exec(text)![1]);
}

/** What Redis is given in compose and on Kubernetes. */
async function configuredBytes(): Promise<number> {
  const text = await readFile('config/redis/redis.conf', 'utf8');
  return Number(/^maxmemory (\d+)mb$/m.exec(text)![1]) * mebibyte;
}

if (noRedis !== undefined) test.skip(`memory of Redis (${noRedis})`);

describe.skipIf(noRedis !== undefined)('memory of Redis', () => {
  verifies('reliability.waiting-jobs-fit', 'as many as may wait, as large as can be, beside a full cache', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const backing = await openBacking({ databaseUrl: 'postgres://unused', redisUrl: redis.url });
    onTestFinished(() => backing.close());
    const { queue_length: mayWait } = readConfig({ environment: { DATA_DIR: '/unused' } }).limits;
    const [room, before] = [await configuredBytes(), await memoryOf(redis, 'used_memory')];
    // Three calls go into one job, and every character of their arguments is escaped twice.
    const text = '"'.repeat(maxCarriedArgumentsBytes * 0.43);
    const jobs = Array.from({ length: 1_500 }, () => makeJob({ arguments: { text } }));
    await Promise.all(jobs.map((job) => backing.queue.add(job, { signal: never(), together: true })));
    const { waiting } = await backing.queue.counts(never());
    expect(waiting).toBe(jobs.length / 3);
    const bytesEach = ((await memoryOf(redis, 'used_memory')) - before) / waiting;
    expect(bytesEach).toBeGreaterThan(20_000);
    expect(bytesEach * mayWait).toBeLessThan(room - cacheBytes);
  });

  describe('a Redis of 16 MiB', () => {
    const roomBytes = 16 * mebibyte;
    let box: Signalbox;
    beforeAll(async () => {
      box = await startSignalbox();
      await box.redis!.client.config('SET', 'maxmemory', roomBytes);
    });
    afterAll(() => box?.close());

    verifies('reliability.ended-calls-leave-redis', 'three times its memory goes by in arguments', async () => {
      const probe = new OutageProbe(() => box.url);
      const content = 'x'.repeat(950_000);
      const calls = Math.ceil((3 * roomBytes) / content.length);
      const before = await memoryOf(box.redis!, 'used_memory');
      for (let sent = 0; sent < calls; sent += 4) {
        const answers = await Promise.all(
          [0, 1, 2, 3].map((place) =>
            probe.post('/api/tools/call', { name: 'write_file', arguments: { path: `${place}.txt`, content } }),
          ),
        );
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      }
      expect((await memoryOf(box.redis!, 'used_memory')) - before).toBeLessThan(mebibyte);
      expect(await memoryOf(box.redis!, 'used_memory_peak')).toBeLessThan(roomBytes / 2);
    });
  });
});
