// How workers share discoveries about servers, through the real cache. Each worker here has its own pool.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Cache } from '#libs/backing/cache.js';
import { silentLogger } from '#libs/logging/logger.js';
import { openServices, type Services } from '../../../../test/support/queue-path.js';
import { fixture, openToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';
import { DiscoveryMemory, type Discovery } from './discovery.js';

let services: Services;
const fixtures: ChildProcessWithoutNullStreams[] = [];
const proxies: Server[] = [];

beforeAll(async () => {
  services = await openServices();
});
afterAll(async () => {
  for (const proxy of proxies) {
    proxy.closeAllConnections();
    proxy.close();
  }
  for (const each of fixtures) each.kill('SIGKILL');
  await services?.close();
});

/** A fixture behind a proxy that records the requested methods. */
async function watched(name: string): Promise<{ url: string; asked: string[] }> {
  const child = spawn(process.execPath, [fixture(name), '--http']);
  fixtures.push(child);
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  const asked: string[] = [];
  const proxy = createServer((request, response) => void pass(request, response));
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const body = Buffer.concat(parts);
    const method = (body.length === 0 ? {} : (JSON.parse(body.toString()) as { method?: string })).method;
    if (method !== undefined && !method.startsWith('notifications/')) asked.push(method);
    const target = { port: Number(port), path: request.url, method: request.method, headers: request.headers };
    const passed = httpRequest(target, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers).flushHeaders();
      pipeline(answer, response, () => undefined);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    passed.end(body);
  };
  proxies.push(proxy);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`, asked };
}

/** A call of `add` by one worker, which uses and shares discoveries. */
async function callFrom(server: object, cache: Cache): Promise<void> {
  const worker = await openToolServers({ web: server }, { cache });
  try {
    const result = await worker.call('web', 'add', { args: { a: 1, b: 2 } });
    expect(result).toMatchObject({ structuredContent: { sum: 3 } });
  } finally {
    await worker.close();
  }
}

/** Replaces all shared discoveries. */
function always(discovery: Discovery | string): Cache {
  const { cache } = services.backing;
  const text = typeof discovery === 'string' ? discovery : JSON.stringify(discovery);
  return {
    maxValueBytes: cache.maxValueBytes,
    get: async () => text,
    set: (...given) => cache.set(...given),
    delete: (...given) => cache.delete(...given),
    close: () => cache.close(),
  };
}

const modern: Discovery = {
  kind: 'modern',
  transport: 'http',
  discover: {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    ttlMs: 0,
    cacheScope: 'public',
  },
};
const handshakes = (asked: string[]) => asked.filter((method) => ['server/discover', 'initialize'].includes(method));

for (const [name, first] of [
  ['new-sdk', ['server/discover']],
  ['old-sdk', ['server/discover', 'initialize']],
] as const) {
  verifies('tools.discovery-shared', `${name}: the second worker does not ask again`, async () => {
    const { url, asked } = await watched(name);
    await callFrom({ url }, services.backing.cache);
    expect(handshakes(asked)).toEqual(first);
    asked.length = 0;
    // The write is not awaited.
    const again = () => callFrom({ url }, services.backing.cache).then(() => handshakes(asked.splice(0)));
    await expect.poll(again, { timeout: 15_000 }).toEqual(name === 'new-sdk' ? [] : ['initialize']);
    await callFrom({ url, timeout_ms: 9_999 }, services.backing.cache);
    expect(handshakes(asked)).toEqual(first);
  });
}

verifies('tools.discovery-shared', 'what is no longer so is found out, and the call is made once', async () => {
  const old = await watched('old-sdk');
  await callFrom({ url: old.url }, always(modern));
  expect(old.asked.filter((method) => method === 'initialize')).toHaveLength(1);
  const unknown = { ...modern, discover: { ...modern, supportedVersions: ['2031-01-01'], capabilities: {} } };
  const recent = await watched('new-sdk');
  for (const wrong of [
    unknown as unknown as Discovery,
    { kind: 'legacy', transport: 'sse' } as Discovery,
    'not JSON',
    '{"kind":"modern","discover":{}}',
    '{"kind":"__proto__"}',
    '[]',
  ]) {
    recent.asked.length = 0;
    await callFrom({ url: recent.url }, always(wrong));
    expect(recent.asked.filter((method) => method === 'tools/call')).toHaveLength(1);
  }
});

verifies('tools.discovery-shared', 'a program of the older era, and a cache that is away', async () => {
  const silent = { command: 'node', args: [fixture('old-sdk')] };
  await callFrom(silent, always({ kind: 'legacy' }));
  await callFrom(silent, always(modern));
  const away: Cache = {
    ...always(''),
    get: () => Promise.reject(new Error('away')),
    set: () => Promise.reject(new Error('away')),
    delete: () => Promise.reject(new Error('away')),
  };
  await callFrom(silent, away);
});

verifies(
  'tools.discovery-shared',
  'by server, configuration and credential; what was found wrong is not believed',
  async () => {
    const { cache } = services.backing;
    const open = (given: object = {}) => {
      const key = { server: 'docs', configHash: 'h', ...given };
      return new DiscoveryMemory(key, cache, silentLogger);
    };
    const first = open();
    first.keep({ kind: 'legacy' });
    await expect.poll(() => open().recall(), { timeout: 10_000 }).toEqual({ kind: 'legacy' });
    for (const other of [{ server: 'other' }, { configHash: 'i' }, { credential: 'c' }]) {
      expect(await open(other).recall()).toBeUndefined();
    }
    first.forget();
    expect(await first.recall()).toBeUndefined();
    await expect.poll(() => open().recall(), { timeout: 10_000 }).toBeUndefined();
  },
);
