import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { NestFactory } from '@nestjs/core';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { Scrape } from '#libs/metrics/scrape.js';
import { AppError } from '#libs/schemas/errors.js';
import { testLimits } from '../../test/support/test-workspace.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { verifies } from '../../test/verifies.js';
import { isolationCheck, modelsCheck, pingCheck, serversCheck, workersCheck, workspacesCheck } from './checks.js';
import { Health, type HealthCheck } from './health.js';
import { OperatorAccess, type OperatorRequest } from './operator-access.js';
import { OperationsModule } from './operations.module.js';

const serving = (...checks: HealthCheck[]) => {
  const health = new Health('gateway', checks);
  health.become('serving');
  return health;
};
const away = () => Promise.reject(new AppError('store_unavailable', 'The database does not answer'));

verifies('operations.health-degraded', 'what is wrong with several providers is several sentences', async () => {
  const problems = ['The provider a is away (ECONNRESET)', 'Set a key.', 'c', 'd', 'e', 'f'];
  const { checks } = await serving(modelsCheck(async () => ({ model: 'm', problems }))).ready();
  expect(checks).toMatchObject([
    { status: 'degraded', reason: 'The provider a is away (ECONNRESET). Set a key. c. d. e. And 1 more.' },
  ]);
});

verifies('operations.health-degraded', 'store, queue, worker, server, isolation: 200 and why', async () => {
  const health = serving(
    pingCheck('store', away),
    pingCheck('queue', () => new Promise(() => undefined)),
    workersCheck({ alive: async () => [] }),
    isolationCheck(async () => ['none']),
    serversCheck(async () => ({ a: 'ready', b: 'down' })),
  );
  const { status, checks } = await health.ready();
  expect(status).toBe('degraded');
  expect(checks.map(({ name, status, reason }) => [name, status, reason])).toEqual([
    ['store', 'down', 'The database does not answer'],
    ['queue', 'down', 'no answer within 300 ms'],
    ['workers', 'degraded', 'no worker was seen: tools cannot run'],
    ['isolation', 'degraded', 'tool servers run without isolation'],
    ['servers', 'degraded', 'not ready: b (down)'],
  ]);
});

verifies(
  'operations.health-degraded',
  'workspaces: too little is free, or they cannot be written; logged once',
  async () => {
    const base = mkdtempSync(join(tmpdir(), 'signalbox-health-'));
    try {
      const path = join(base, 'workspaces');
      const notWritable = join(base, 'file', 'workspaces');
      writeFileSync(join(base, 'file'), '');
      const results = [];
      for (const [dir, minFreeBytes] of [
        [path, 1],
        [path, Number.MAX_SAFE_INTEGER],
        [notWritable, 1],
      ] as const) {
        const workspaces = await Workspaces.open(dir, { ...testLimits, minFreeBytes });
        const logged: string[] = [];
        const logger = { ...silentLogger, error: (_: object, message: string) => void logged.push(message) };
        const check = workspacesCheck({ workspaces, directory: { path: dir, setting: 'WORKSPACES_DIR' }, logger });
        const { status, reason, details } = (await serving(check).ready()).checks[0]!;
        await check.check(AbortSignal.timeout(5_000));
        results.push([status, reason, typeof details?.['freeBytes'], logged]);
      }
      const low = 'the disk of workspaces.dir has less free space than workspaces.min_free_bytes: no files are written';
      const closed = 'WORKSPACES_DIR: it must be a directory that this user can write (ENOTDIR)';
      expect(results).toEqual([
        ['ok', undefined, 'number', []],
        ['degraded', low, 'number', [low]],
        ['degraded', closed, 'undefined', [`the directory of the workspaces cannot be written. ${closed}`]],
      ]);
    } finally {
      rmSync(base, { recursive: true });
    }
  },
);

test('all well is ok; what a check throws is not shown', async () => {
  const well = serving(
    pingCheck('store', async () => 1),
    workersCheck({
      alive: async () =>
        [false, true].map((draining) => ({ id: 'w', kind: 'worker', details: {}, draining, ageMs: 1 })),
    }),
  );
  expect(await well.ready()).toMatchObject({ status: 'ok', checks: [{ status: 'ok' }, { details: { count: 1 } }] });
  const shown = await serving(pingCheck('store', () => Promise.reject(new Error('/root/x password')))).ready();
  expect(JSON.stringify(shown)).not.toMatch(/root|password/);
});

verifies('operations.health-cheap', 'many askers share one run, a hanging check is cut off', async () => {
  let runs = 0;
  const health = serving({
    name: 'slow',
    check: (signal) => {
      runs += 1;
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ status: 'ok' })));
    },
  });
  const started = performance.now();
  const reports = await Promise.all(Array.from({ length: 500 }, () => health.ready()));
  expect(performance.now() - started).toBeLessThan(1_500);
  expect(new Set(reports).size).toBe(1);
  await health.ready();
  expect(runs).toBe(1);
});

verifies('operations.health-ready', '503 while starting, while stopping, and without what is critical', async () => {
  const broken: HealthCheck = { name: 'models', critical: true, check: async () => ({ status: 'down' }) };
  const health = new Health('gateway', []);
  const scrape = new Scrape(createMetrics({ processMetrics: false }), {});
  const app = await openApp(health, scrape);
  try {
    const ready = async () => {
      const answer = await app.inject('/health/ready');
      return [answer.statusCode, answer.json<{ status: string }>().status];
    };
    expect(await ready()).toEqual([503, 'unavailable']);
    health.become('serving');
    expect(await ready()).toEqual([200, 'ok']);
    health.become('stopping');
    expect(await ready()).toEqual([503, 'unavailable']);
    expect((await app.inject('/health/live')).json()).toEqual({ status: 'ok' });
    const metrics = await app.inject('/metrics');
    expect(metrics.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(metrics.body).toContain('signalbox_errors_total');
    expect((await serving(broken).ready()).status).toBe('unavailable');
  } finally {
    await app.close();
  }
});

async function openApp(health: Health, scrape: Scrape): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(
    OperationsModule.of({ health, scrape, access: new OperatorAccess(undefined) }),
    new FastifyAdapter(),
    { logger: false },
  );
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return app;
}

verifies('operations.metrics-access', 'this machine, else the token', () => {
  const near = { address: '127.0.0.1', forwarded: false, host: 'localhost:8001', authorization: undefined };
  const far = { ...near, address: '10.0.0.9' };
  const code = (access: OperatorAccess, request: OperatorRequest) => {
    try {
      access.admit(request);
      return 'admitted';
    } catch (error) {
      return (error as AppError).code;
    }
  };
  const closed = new OperatorAccess(undefined);
  expect(code(closed, near)).toBe('admitted');
  expect(code(closed, { ...near, address: '::ffff:127.0.0.1' })).toBe('admitted');
  expect(code(closed, far)).toBe('insufficient_scope');
  expect(code(closed, { ...near, forwarded: true })).toBe('insufficient_scope');
  expect(code(closed, { ...near, host: '[::1]:8001' })).toBe('admitted');
  // A foreign page under a name that resolves to this machine.
  for (const host of ['evil.example:8001', undefined]) {
    expect(code(closed, { ...near, host })).toBe('insufficient_scope');
  }
  const open = new OperatorAccess('the-token');
  expect(code(open, far)).toBe('invalid_api_key');
  expect(code(open, { ...far, authorization: 'Bearer no' })).toBe('invalid_api_key');
  expect(code(open, { ...far, host: 'worker:8001', authorization: 'Bearer the-token' })).toBe('admitted');
});
