// Headers of a caller on their way to a server behind an address: gateway, queue, worker and HTTP are the real ones.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { mintSealedReference, SealedValues } from '#libs/backing/sealed-values.js';
import {
  openGateway,
  openServices,
  openWorker,
  requestContext,
  type Services,
  type TestGateway,
  type TestWorker,
} from '../../../../test/support/queue-path.js';
import { AppError } from '#libs/schemas/errors.js';
import { verifies } from '../../../../test/verifies.js';

let services: Services;
let gateway: TestGateway;
let worker: TestWorker;
let http: Server;
const calls: IncomingHttpHeaders[] = [];

beforeAll(async () => {
  let sessions = 0;
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const text = Buffer.concat(parts).toString();
    const { id, method, params } = (text === '' ? {} : JSON.parse(text)) as {
      id?: number;
      method?: string;
      params?: { protocolVersion: string };
    };
    if (request.method !== 'POST') return void response.writeHead(405).end();
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'tools/call') calls.push(request.headers);
    const serverInfo = { name: 'web', version: '1' };
    const results: Record<string, object> = {
      initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
      'tools/list': { tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'you' }] },
    };
    const result = results[method ?? ''];
    const answer = result === undefined ? { error: { code: -32_601, message: 'no' } } : { result };
    const session = method === 'initialize' ? { 'mcp-session-id': `s${(sessions += 1)}` } : {};
    response.writeHead(200, { 'content-type': 'application/json', ...session });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  };
  http = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const web = { url, headers: { 'x-key': 'ours', 'x-tenant': 'none' }, forward_headers: ['Authorization', 'X-Tenant'] };
  services = await openServices({ MCP_SERVERS: JSON.stringify({ web }) });
  worker = await openWorker(services);
  gateway = await openGateway(services);
  await vi.waitUntil(() => gateway.catalog.find('whoami') !== undefined, { timeout: 20_000 });
});
afterAll(async () => {
  await gateway?.close();
  await worker?.close();
  await services?.close();
  http?.closeAllConnections();
  http?.close();
});

async function callWith(headers: Record<string, string>, principal = 'local') {
  const context = requestContext({ principal, header: (name) => headers[name] });
  const prepared = await gateway.calls.prepare({ name: 'whoami', argumentsText: '{}' }, context);
  const { outcome } = await prepared.run(() => undefined);
  expect(outcome).toMatchObject({ state: 'completed' });
  return calls.at(-1)!;
}

verifies('tools.headers-forwarded', 'those that are configured, above our own', async () => {
  const sent = await callWith({ authorization: 'Bearer canary-a', 'x-tenant': '1', cookie: 'sid=canary-c' });
  expect(sent).toMatchObject({ authorization: 'Bearer canary-a', 'x-tenant': '1', 'x-key': 'ours' });
  expect(sent.cookie).toBeUndefined();
  const without = await callWith({});
  expect(without).toMatchObject({ 'x-tenant': 'none', 'x-key': 'ours' });
  expect(without.authorization).toBeUndefined();
});

verifies('tools.headers-forwarded', 'a connection of its own for each caller', async () => {
  const session = async (token: string, principal?: string) =>
    (await callWith({ authorization: token }, principal))['mcp-session-id'];
  const [first, again, other] = [await session('Bearer 1'), await session('Bearer 1'), await session('Bearer 2')];
  expect(again).toBe(first);
  expect(new Set([first, other, await session('Bearer 1', 'someone else')]).size).toBe(3);
});

verifies('tools.headers-forwarded', 'kept nowhere else, and not after the call', async () => {
  await callWith({ authorization: 'Bearer canary-secret' });
  const left = () => services.rows("select 1 from signalbox_backing.cache where key like 'sealed:%'");
  await expect.poll(async () => (await left()).length, { timeout: 10_000 }).toBe(0);
  const tables = ['tool_calls', 'audit_events', 'catalog_tools', 'sessions'];
  for (const table of tables) {
    const rows = await services.rows<{ text: string }>(`select ${table}::text as text from ${table}`);
    expect(JSON.stringify(rows)).not.toContain('canary');
  }
  expect(await services.rows("select 1 from tool_calls where job::text like '%sealedHeaders%'")).not.toHaveLength(0);
});

verifies(
  'tools.headers-forwarded',
  'a call whose headers cannot be kept is refused, and ended in the journal',
  async () => {
    const away = new AppError('store_unavailable', 'The store is not reachable');
    const { backing } = services;
    const cache = { ...backing.cache, set: () => Promise.reject(away) };
    const broken = await openGateway({ ...services, backing: { ...backing, cache } });
    try {
      await vi.waitUntil(() => broken.catalog.find('whoami') !== undefined, { timeout: 20_000 });
      const context = requestContext({ header: (name) => (name === 'authorization' ? 'Bearer 1' : undefined) });
      const prepared = await broken.calls.prepare({ name: 'whoami', argumentsText: '{}' }, context);
      await expect(prepared.run(() => undefined)).rejects.toBe(away);
      const [row] = await services.rows<{ state: string }>('select state from tool_calls where id = $1', [
        prepared.context.callId,
      ]);
      expect(row?.state).toBe('cancelled');
    } finally {
      await broken.close();
    }
  },
);

test('a sealed value opens with its key alone, and only while it is there', async () => {
  const values = new SealedValues(services.backing.cache);
  const signal = AbortSignal.timeout(20_000);
  const reference = mintSealedReference();
  await values.put(reference, 'grüße', 60_000, signal);
  const stored = await services.backing.cache.get(`sealed:${reference.ref}`, signal);
  expect(Buffer.from(stored!, 'base64').includes('grüße')).toBe(false);
  expect(await values.get(reference, signal)).toBe('grüße');
  expect(await values.get({ ...reference, key: mintSealedReference().key }, signal)).toBeUndefined();
  await services.backing.cache.set(`sealed:${reference.ref}`, 'AAAA', 60_000, signal);
  expect(await values.get(reference, signal)).toBeUndefined();
  await values.delete(reference, signal);
  expect(await values.get(reference, signal)).toBeUndefined();
});
