// A call with a key whose tool server gets headers of the caller: once approved, it waits for the request that brings them.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect } from 'vitest';
import { type ShownApproval, startAskingSignalbox, write } from '../support/approvals-client.js';
import { post } from '../support/scripts.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import type { StartedHere } from '../support/services/start-here.js';
import { verifies } from '../verifies.js';

/** The header of each call that reached the tool. */
const tenants: unknown[] = [];
let http: Server;
let asking: Awaited<ReturnType<typeof startAskingSignalbox<StartedHere>>>;

function answerTo(method: string, version: unknown): object {
  if (method === 'tools/call') return { content: [{ type: 'text', text: 'done' }] };
  if (method === 'tools/list') return { tools: [{ name: 'act', inputSchema: { type: 'object' } }] };
  return { protocolVersion: version, capabilities: { tools: {} }, serverInfo: { name: 'web', version: '1' } };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(405).end();
  const { id, method, params } = JSON.parse(await text(request)) as {
    id?: number;
    method: string;
    params?: { protocolVersion?: string };
  };
  if (id === undefined) return void response.writeHead(202).end();
  if (method === 'tools/call') tenants.push(request.headers['x-tenant']);
  const body = { jsonrpc: '2.0', id, result: answerTo(method, params?.protocolVersion) };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

beforeAll(async () => {
  http = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const servers = { web: { url, forward_headers: ['x-tenant'] } };
  asking = await startAskingSignalbox(startSignalboxHere, {
    environment: { MCP_SERVERS: JSON.stringify(servers), POLICY_DEFAULT: 'by_origin' },
  });
}, 60_000);
afterAll(async () => {
  await asking?.close();
  http?.closeAllConnections();
  http?.close();
});

verifies('approvals.tools-api-alone', 'not before its caller brings the headers of its server', async () => {
  const known = async () => (await fetch(`${asking.url()}/api/tools/act`)).status;
  await expect.poll(known, { timeout: 20_000 }).toBe(200);
  const call = (body: object, headers: Record<string, string>) => post(asking.url(), '/api/tools/call', body, headers);
  const act = () => call({ name: 'act', arguments: {} }, { 'idempotency-key': 'tenant', 'x-tenant': 'north' });
  const other = { ...write('alone.txt'), session_id: 'alone' };
  const asked = [await call(other, { 'idempotency-key': 'other' }), await act()];
  expect(asked.map(({ status }) => status)).toEqual([202, 202]);
  for (const { body } of asked.reverse()) {
    const { id } = (body as unknown as { approval: ShownApproval }).approval;
    expect((await asking.decide(id, { decision: 'approve' })).status).toBe(200);
  }
  // A gateway that looks for approved calls sees the newest first.
  await expect.poll(() => asking.fileOf('alone', 'alone.txt'), { timeout: 10_000 }).toBe('one');
  expect((await act()).status).toBe(200);
  expect(tenants).toEqual(['north']);
});
