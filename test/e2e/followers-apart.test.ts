// Two users follow the same resource of a tool server that is told who calls: each is told of changes of their own only, in both eras.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { freePort } from '../support/services/free-port.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const uri = 'doc://inbox';
const directory = mkdtempSync(join(tmpdir(), 'signalbox-followers-'));
const keys: Record<string, string> = {};
/** Of the server: whose session it is, and the stream of each. */
const owners = new Map<string, string>();
const streams = new Map<string, ServerResponse>();
let box: SignalboxHere;

const results: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {}, resources: { subscribe: true } },
    serverInfo: { name: 'post', version: '1' },
  },
  'tools/list': { tools: [] },
  'resources/list': { resources: [{ uri, name: 'inbox' }] },
  'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'doc://{name}', name: 'any' }] },
  'resources/subscribe': {},
  'resources/unsubscribe': {},
  ping: {},
};

/** A server of the older era, whose sessions belong to one user each. */
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const session = String(request.headers['mcp-session-id'] ?? randomUUID());
  const statement = request.headers.authorization?.slice('Bearer '.length) ?? '';
  owners.set(session, decodeJwt(statement).sub ?? '');
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    streams.set(session, response);
    return;
  }
  const body = await text(request);
  const { id, method = '' } = (body === '' ? {} : JSON.parse(body)) as { id?: number; method?: string };
  if (id === undefined) return void response.writeHead(202).end();
  const result = results[method];
  const answer = result === undefined ? { error: { code: -32_601, message: method } } : { result };
  response
    .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session })
    .end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
}
const http = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));

/** The server says so in the sessions of this user. */
function change(user: string): void {
  for (const [session, stream] of streams) {
    if (owners.get(session) !== user) continue;
    const message = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } };
    stream.write(`data: ${JSON.stringify(message)}\n\n`);
  }
}

beforeAll(async () => {
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const file = join(directory, 'signalbox.yaml');
  writeFileSync(file, JSON.stringify({ mcpServers: { post: { url, identity: 'jwt' } } }));
  box = await startSignalboxHere({
    scripted: false,
    environment: { SIGNALBOX_CONFIG: file, PORT: String(await freePort()) },
  });
  for (const owner of ['root', 'ada', 'bob']) {
    const answer = await fetch(`${box.url}/api/keys`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headersOf('root') },
      body: JSON.stringify({ owner, scopes: owner === 'root' ? ['admin', 'tools'] : ['tools'] }),
    });
    keys[owner] = ((await answer.json()) as { key: string }).key;
  }
  await vi.waitFor(
    async () => {
      const listed = await fetch(`${box.url}/api/resources`, { headers: headersOf('ada') });
      expect(await listed.text()).toContain(uri);
    },
    { timeout: 20_000, interval: 100 },
  );
}, 60_000);
afterAll(async () => {
  await box?.close();
  http.closeAllConnections();
  await new Promise((resolve) => http.close(resolve));
  rmSync(directory, { recursive: true });
});

const headersOf = (owner: string): Record<string, string> =>
  keys[owner] === undefined ? {} : { authorization: `Bearer ${keys[owner]}` };

async function follower(owner: string, mode: 'auto' | 'legacy') {
  const told: string[] = [];
  const client = new Client({ name: 'follower', version: '1' }, { versionNegotiation: { mode } });
  client.setNotificationHandler('notifications/resources/updated', () => void told.push(owner));
  const requestInit = { headers: headersOf(owner) };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${box.url}/mcp`), { requestInit }));
  if (mode === 'auto') await client.listen({ resourceSubscriptions: [uri] });
  else await client.subscribeResource({ uri });
  return { client, told };
}

for (const mode of ['auto', 'legacy'] as const) {
  verifies('mcp.subscriptions-apart', mode === 'auto' ? '2026-07-28' : 'before 2026', async () => {
    const ada = await follower('ada', mode);
    const bob = await follower('bob', mode);
    for (const [user, { told }] of [['ada', ada] as const, ['bob', bob] as const, ['ada', ada] as const]) {
      const before = told.length;
      change(user);
      await expect.poll(() => told.length, { timeout: 10_000 }).toBeGreaterThan(before);
    }
    expect([ada.told, bob.told]).toEqual([['ada', 'ada'], ['bob']]);
    await Promise.all([ada.client.close(), bob.client.close()]);
  });
}

verifies('mcp.subscriptions', 'a client that asks for many at once gets no more than one that waits', async () => {
  const client = new Client({ name: 'greedy', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
  const requestInit = { headers: headersOf('ada') };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${box.url}/mcp`), { requestInit }));
  const asked = Array.from({ length: 120 }, async (_, at) =>
    client.subscribeResource({ uri: `doc://box-${at}` }).then(
      () => '',
      (error: Error) => error.message,
    ),
  );
  const messages = await Promise.all(asked);
  expect(messages.filter((each) => each.includes('may subscribe to 100 resources'))).toHaveLength(20);
  await client.close();
});
