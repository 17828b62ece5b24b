// Redis goes away from under a gateway and a worker: restarted, stopped, silent, full, flushed.
// Runs, journal and audit are in PostgreSQL all the while: nothing of them may be lost or doubled.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { HealthReport } from '#libs/health/health.js';
import { noRedis } from '../support/services/redis-server.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import type { TestRedis } from '../support/services/start-redis.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { getTime, OutageProbe } from '../support/outage-probe.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';
import { suitesOnRedis } from './suites-on-redis.js';

if (noRedis !== undefined) {
  for (const suite of suitesOnRedis('faults')) test.skip(`${suite} on Redis (${noRedis})`);
}

describe.skipIf(noRedis !== undefined)(`Redis away${noRedis === undefined ? '' : ` (${noRedis})`}`, () => {
  let box: Signalbox;
  let redis: TestRedis;
  let web: HeldWeb;
  const probe = new OutageProbe(() => box.url);

  beforeAll(async () => {
    web = await openHeldWeb();
    // One call at a time, so that a second one waits in the queue.
    const environment = { TOOLS_FETCH_ALLOW: '127.0.0.1', WORKER_CONCURRENCY: '1' };
    box = await startSignalbox({ script: () => ({ text: 'plain' }), environment });
    redis = box.redis!;
  });
  afterEach(async () => {
    await redis.client.config('SET', 'maxmemory', '0');
    await probe.servesAgain();
  });
  afterAll(async () => {
    await box?.close();
    web?.close();
  });

  const heldPost = (path: string) =>
    probe.post('/api/tools/call', { name: 'fetch', arguments: { url: `${web.url}${path}`, method: 'POST' } });

  const audits = (callId: string) =>
    box.rows<{ state: string }>('select state from audit_events where call_id = $1', [callId]);

  const openCalls = () =>
    box.rows<{ id: string }>(`select id from tool_calls where state in ('planned', 'dispatched')`);

  verifies('reliability.redis-restarted', 'without a disk, while an unsafe tool runs', async () => {
    const call = heldPost('/restarted');
    await web.reached('/restarted');
    await redis.restart();
    web.answer('/restarted');
    const { status, reported } = await call;
    expect(status).toBe(200);
    expect(web.count('/restarted')).toBe(1);
    expect(await audits(reported.id!)).toEqual([{ state: 'completed' }]);
  });

  for (const [how, away, back] of [
    ['stopped', () => redis.kill(), () => redis.restart()],
    ['silent', () => redis.signal('SIGSTOP'), () => redis.signal('SIGCONT')],
  ] as const) {
    verifies('reliability.redis-away-refused', how, async () => {
      await away();
      probe.expectRefused(await Promise.all([1, 2, 3].map(() => probe.post('/api/tools/call', getTime))));
      await probe.expectPlainChats();
      expect(await openCalls()).toEqual([]);
      await back();
      expect(await probe.servesAgain()).toBeLessThan(withinMs(10_000));
      await expect.poll(probe.ready, { timeout: 10_000 }).not.toContain('degraded');
    });
  }

  verifies('reliability.redis-full', 'refused at once, and no half job is left', async () => {
    const jobs = () => redis.client.keys('{signalbox}:tools:call_*');
    const before = await jobs();
    await redis.client.config('SET', 'maxmemory', '1');
    const answers = await Promise.all([1, 2, 3].map(() => probe.post('/api/tools/call', getTime)));
    probe.expectRefused(answers);
    for (const { tookMs } of answers) expect(tookMs).toBeLessThan(withinMs(1_500));
    expect(answers.map(({ reported }) => reported.error?.message)).toEqual(answers.map(() => 'The store is full'));
    expect(await openCalls()).toEqual([]);
    expect((await jobs()).sort()).toEqual(before.sort());
  });

  verifies('operations.health-full', 'Redis, of the gateway and of the worker; and room again', async () => {
    const queueChecks = () =>
      Promise.all(
        [box.url, box.workers[0]!.url].map(async (url) => {
          const { status, checks } = (await (await fetch(`${url}/health/ready`)).json()) as HealthReport;
          const { status: queue, reason } = checks.find(({ name }) => name === 'queue')!;
          return [status, queue, reason];
        }),
      );
    const well = [1, 2].map(() => ['ok', undefined]);
    const queues = async () => (await queueChecks()).map(([, ...queue]) => queue);
    await expect.poll(queues, { timeout: 5_000 }).toEqual(well);
    await redis.client.config('SET', 'maxmemory', '1');
    expect(await redis.client.ping()).toBe('PONG');
    const full = ['degraded', 'down', 'The store is full'];
    await expect.poll(queueChecks, { timeout: 5_000 }).toEqual([full, full]);
    await probe.expectPlainChats();
    await redis.client.config('SET', 'maxmemory', '0');
    await expect.poll(queues, { timeout: 5_000 }).toEqual(well);
  });

  verifies('reliability.redis-full', 'what waits is not lost, and runs when there is room', async () => {
    const first = heldPost('/full');
    await web.reached('/full');
    const second = probe.post('/api/tools/call', getTime);
    await expect.poll(() => redis.client.llen('{signalbox}:tools:wait')).toBe(1);
    await redis.client.config('SET', 'maxmemory', '1');
    web.answer('/full');
    expect((await first).status).toBe(200);
    await redis.client.config('SET', 'maxmemory', '0');
    expect((await second).status).toBe(200);
    expect(web.count('/full')).toBe(1);
  });

  verifies('reliability.lost-jobs-added-again', 'Redis was flushed while a call waited in it', async () => {
    const first = heldPost('/flushed');
    await web.reached('/flushed');
    const second = probe.post('/api/tools/call', getTime);
    await expect.poll(() => redis.client.llen('{signalbox}:tools:wait')).toBe(1);
    await redis.client.flushall();
    web.answer('/flushed');
    const [held, waited] = await Promise.all([first, second]);
    expect([held.status, waited.status]).toEqual([200, 200]);
    expect(web.count('/flushed')).toBe(1);
    for (const { reported } of [held, waited]) expect(await audits(reported.id!)).toEqual([{ state: 'completed' }]);
  });
});
