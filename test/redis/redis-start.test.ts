// What the start makes of the Redis that it is given: one that cannot be used ends it with the reason, one that may lose
// jobs is warned of, and one that sentinels watch over is followed to its new master.
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, onTestFinished } from 'vitest';
import { openBacking } from '#libs/backing/open-backing.js';
import type { Backing } from '#libs/backing/backing.js';
import { type Logger, silentLogger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/services/free-port.js';
import { noRedis } from '../support/services/redis-server.js';
import { type RedisOptions, startRedis, type TestRedis } from '../support/services/start-redis.js';
import { Collected, failureOf, makeJob, never } from '../contract/conformance-store.js';
import { verifies } from '../verifies.js';

async function started(options: RedisOptions = {}): Promise<TestRedis> {
  const redis = await startRedis(options);
  onTestFinished(() => redis.stop());
  return redis;
}

async function opened(redisUrl: string, logger: Logger = silentLogger): Promise<Backing> {
  const backing = await openBacking({ databaseUrl: 'postgres://unused', redisUrl, logger });
  onTestFinished(() => backing.close());
  return backing;
}

async function refusal(redisUrl: string): Promise<string> {
  const { error } = await failureOf(() => opened(redisUrl));
  expect(error).toBeInstanceOf(AppError);
  const { message } = error as AppError;
  expect(message).not.toContain('canary');
  return message;
}

/** The outermost edge: a server of a version that this machine does not have. */
async function startOldRedis(version: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const info = `redis_version:${version}\r\n`;
    // Every request is one array: each is answered with the same text.
    socket.on('data', (bytes) => {
      const requests = bytes.toString().match(/^\*\d+\r$/gm)?.length ?? 0;
      socket.write(`$${info.length}\r\n${info}\r\n`.repeat(requests));
    });
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.skipIf(noRedis !== undefined)(`Redis at the start${noRedis === undefined ? '' : ` (${noRedis})`}`, () => {
  verifies('operations.redis-unusable', 'away, wrong password, too old, of another kind', async () => {
    const away = await freePort();
    const unreachable = `Redis at 127.0.0.1:${away} (REDIS_URL) cannot be reached (ECONNREFUSED)`;
    expect(await refusal(`redis://:canary-secret@127.0.0.1:${away}`)).toBe(unreachable);
    // With or without the code: a cluster's client keeps the failure of its last node to itself.
    expect(['', ' (ECONNREFUSED)'].map((code) => unreachable.replace(' (ECONNREFUSED)', code))).toContain(
      await refusal(`redis+cluster://:canary-secret@127.0.0.1:${away}`),
    );
    const locked = await started({ settings: { requirepass: 'right' } });
    expect(await refusal(locked.url.replace('//', '//:canary-secret@'))).toMatch(/rejected the user name or password/);
    expect(await refusal(await startOldRedis('6.0.16'))).toMatch(/6\.0\.16 is too old: 6\.2 or newer/);
    const plain = await started();
    expect(await refusal(plain.url.replace('redis:', 'redis+cluster:'))).toMatch(/is not a cluster/);
  });

  verifies('operations.redis-warnings', 'no append-only file, eviction; nothing to say of a good one', async () => {
    const warnings: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) };
    const [careless, careful] = await Promise.all([
      started({ settings: { 'maxmemory-policy': 'allkeys-lru' } }),
      started({ settings: { appendonly: 'yes' } }),
    ]);
    await opened(careful.url, logger);
    expect(warnings).toEqual([]);
    await opened(careless.url, logger);
    expect(warnings).toEqual([
      expect.stringMatching(/Set appendonly yes/),
      expect.stringMatching(/allkeys-lru.*Set maxmemory-policy noeviction/),
    ]);
  });

  verifies('operations.redis-sentinel', 'a failover: jobs and messages go by the new master', async () => {
    const master = await started();
    const replica = await started({ settings: { replicaof: `127.0.0.1 ${master.port}` } });
    await eventually(async () => (await replica.client.info('replication')).includes('master_link_status:up'));
    const sentinel = await started({
      sentinel: true,
      settings: {
        'sentinel monitor main': `127.0.0.1 ${master.port} 1`,
        'sentinel down-after-milliseconds main': '1000',
      },
    });
    // Looks every ten seconds otherwise.
    await sentinel.client.call(
      'SENTINEL',
      'DEBUG',
      'info-period',
      '100',
      'ping-period',
      '100',
      'publish-period',
      '100',
    );
    const backing = await opened(`redis+sentinel://127.0.0.1:${sentinel.port}/main`);
    const [taken, heard] = [new Collected<string>(), new Collected<string>()];
    await backing.consume(async ({ job }) => taken.add(job.callId), { worker: 'w', concurrency: 4 });
    await backing.channels.subscribe('replies', heard.add);

    const goesThrough = async (name: string) => {
      const job = makeJob();
      await eventually(
        () =>
          Promise.all([
            backing.queue.add(job, { signal: never() }),
            backing.ping(never()),
            backing.channels.publish('replies', name),
          ]).then(
            () => true,
            () => false,
          ),
        20_000,
      );
      await Promise.all([taken.until((ids) => ids.includes(job.callId)), heard.until((names) => names.includes(name))]);
    };
    await goesThrough('before');
    // Refused until it has had a look at the replica.
    await eventually(
      () =>
        sentinel.client.call('SENTINEL', 'FAILOVER', 'main').then(
          () => true,
          () => false,
        ),
      20_000,
    );
    await eventually(async () => (await replica.client.info('replication')).includes('role:master'), 20_000);
    await eventually(async () => (await master.client.info('replication')).includes('role:slave'), 20_000);
    await goesThrough('after');
  });
});
