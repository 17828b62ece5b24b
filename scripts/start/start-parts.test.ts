import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { verifies } from '../../test/verifies.js';
import { configSchema } from '#libs/config/schema.js';
import { chimechModule } from './chimech-module.js';
import { choosePort } from './choose-port.js';
import { describeStart, readIsolation, type StartFacts } from './describe-start.js';
import { RestartPolicy } from './restart-policy.js';
import { servicePart } from './service-part.js';

test('Chimech is a module of the worker, beside others, unless the configuration has its own', () => {
  const modules = (given: object) =>
    chimechModule(configSchema.parse(given), new URL('file:///a,b/own-tools.module.js'))['WORKER_MODULES'];
  expect(modules({})).toBe('file:///a%2Cb/own-tools.module.js');
  expect(modules({ worker: { modules: ['/c.js'] } })).toBe('/c.js,file:///a%2Cb/own-tools.module.js');
  expect(modules({ mcpServers: { chimech: { builtin: 'chimech', enabled: false } } })).toContain('own-tools');
  expect(modules({ mcpServers: { chimech: { url: 'http://chimech:8002/mcp' } } })).toBeUndefined();
});

const limits = { firstDelayMs: 250, maxDelayMs: 1_500, maxFailures: 5, goodLifeMs: 60_000 };

test('restarts come later and later, and a good life starts the count anew', () => {
  const policy = new RestartPolicy(limits);
  expect([1, 2, 3, 4].map(() => policy.afterEnd(10))).toEqual([250, 500, 1_000, 1_500]);
  expect(policy.afterEnd(60_000)).toBe(250);
  expect([1, 2, 3].map(() => policy.afterEnd(10))).toEqual([500, 1_000, 1_500]);
  expect(policy.afterEnd(59_999)).toBeUndefined();
});

async function withTakenPort(body: (port: number) => Promise<void>): Promise<void> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await body((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

const wanted = { host: '127.0.0.1', portSetting: 'PORT', hostSetting: 'HOST' };

verifies('operations.start-taken-port', "the gateway's: who has it, and which setting moves it", () =>
  withTakenPort(async (port) => {
    await expect(choosePort({ ...wanted, name: 'gateway', port, mayMove: false })).rejects.toThrow(
      new RegExp(`gateway cannot listen on 127.0.0.1:${port}: process ${process.pid} \\(.*set PORT to a free port`),
    );
  }),
);

verifies('operations.start-taken-port', "the worker's moves when nobody chose it", () =>
  withTakenPort(async (port) => {
    expect(await choosePort({ ...wanted, name: 'worker', port, mayMove: true })).not.toBe(port);
  }),
);

verifies(
  'operations.start-taken-port',
  'PORT=8001: the worker makes room, or says that it was told not to',
  async () => {
    const both = { ...wanted, name: 'worker', port: 8001, promised: { name: 'gateway', port: 8001 } };
    expect(await choosePort({ ...both, mayMove: true })).not.toBe(8001);
    await expect(choosePort({ ...both, mayMove: false })).rejects.toThrow(
      /8001: that port is for the gateway of this start/,
    );
  },
);

verifies('operations.start-ready', 'not by the answer of another program on its port', async () => {
  let asked = () => {};
  const readinessAsked = new Promise<void>((resolve) => (asked = resolve));
  const stranger = createHttpServer((request, response) => {
    if (request.url === '/health/ready') asked();
    void readinessAsked.then(() => response.end('{}'));
  }).listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  const { port } = stranger.address() as AddressInfo;
  // Starts to listen, and cannot, when the stranger has been asked whether the service is ready.
  const listen = `require('node:net').createServer().on('error', () => process.exit(4)).listen(${port}, '127.0.0.1')`;
  const service = `fetch('http://127.0.0.1:${port}/').then(() => setImmediate(() => ${listen}))`;
  const part = servicePart({
    name: 'gateway',
    program: ['--eval', service],
    environment: () => ({}),
    readyUrl: `http://127.0.0.1:${port}/health/ready`,
    readyDeadlineMs: 30_000,
    stopDeadlineMs: 1_000,
    atOnce: new AbortController().signal,
    logger: silentLogger,
  });
  try {
    await expect(part.start(new AbortController().signal)).rejects.toThrow('exited with status 4');
  } finally {
    stranger.close();
  }
});

test('an address that this machine does not have is reported with its setting', async () => {
  const port = choosePort({ ...wanted, host: '192.0.2.1', name: 'gateway', port: 0, mayMove: false });
  await expect(port).rejects.toThrow('Set HOST');
});

verifies('operations.start-says-what-runs', 'addresses, model, files, keys, isolation, data, a request to try', () => {
  const away = "The model provider 'ollama' cannot be reached at http://127.0.0.1:11434: connection refused.";
  const facts: StartFacts = {
    hasConsole: true,
    gatewayUrl: 'http://127.0.0.1:8000',
    workerUrl: 'http://127.0.0.1:8001',
    dataDir: '/srv/signalbox/.data',
    database: 'embedded',
    queue: 'postgres',
    keys: 'none',
    configuration: undefined,
    envFile: '/srv/signalbox/.env',
    health: [
      undefined,
      {
        status: 'degraded',
        checks: [
          { name: 'isolation', status: 'ok', details: { level: 'confined' } },
          { name: 'models', status: 'degraded', reason: away, details: { model: 'ollama/llama3.2' } },
        ],
      },
    ],
  };
  const text = describeStart(facts);
  for (const part of [
    '/srv/signalbox/.data',
    /is ready\.\n\n +console +http:\/\/127\.0\.0\.1:8000\/console\/\n/,
    /model +ollama\/llama3\.2\n +The model provider 'ollama' cannot be reached at http/,
    /configuration +no signalbox\.yaml.*\n +\/srv\/signalbox\/\.env\n/,
    /keys +none yet, so only this machine can connect \(npx signalbox keys create --owner root --scopes admin\)/,
    /isolation +confined/,
    /curl http:\/\/127\.0\.0\.1:8000\/api\/chat\/completions .*\n.*"messages"/,
  ]) {
    expect(text).toMatch(part);
  }
  const configuration = '/srv/signalbox/signalbox.yaml';
  const offline = [{ checks: [{ name: 'models', status: 'ok', details: { model: 'offline' } }] }];
  const keyed = describeStart({ ...facts, keys: 'needed', configuration, envFile: undefined, health: offline });
  expect(keyed).toMatch(/configuration +\/srv\/signalbox\/signalbox\.yaml\n +keys +every request needs one\n/);
  expect(keyed).toMatch(/model +offline, which needs no key/);
  expect(keyed).toContain("-H 'Authorization: Bearer YOUR_KEY'");
});

test('isolation is reported with what is wrong with it, and not made up', () => {
  const open = { name: 'isolation', status: 'degraded', reason: 'tool servers run without isolation' };
  expect(readIsolation([undefined, { checks: [{ name: 'store', status: 'ok' }, open] }])).toBe(open.reason);
  expect(readIsolation([undefined, { checks: [{ name: 'isolation', status: 'ok' }] }, 'text'])).toBeUndefined();
});
