import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { afterEach, expect } from 'vitest';
import { z } from 'zod';
import { verifies } from '../../../../test/verifies.js';
import { connectHttp } from '../servers/connect.js';
import type { ToolConnection } from '../servers/connection.js';
import { declaresHeaders } from './param-headers.js';

const schemaOf = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const header = (name: unknown, type = 'string') => ({ type, 'x-mcp-header': name });

verifies('tools.param-headers', 'what may be declared, and what may not', () => {
  const nested = schemaOf({ a: header('A'), place: schemaOf({ b: header('B', 'integer'), c: { type: 'string' } }) });
  expect(declaresHeaders(nested)).toBe(true);
  // An argument of that name is one like any other.
  expect(declaresHeaders(schemaOf({ 'x-mcp-header': header('Own') }))).toBe(true);
  for (const none of [true, schemaOf({ a: { type: 'string' } })]) expect(declaresHeaders(none)).toBe(false);
  for (const wrong of [
    ...['', 'a b', 'a:b', 'ä', 'a\r\n', 5, null].map((name) => schemaOf({ a: header(name) })),
    ...['number', 'object', 'array', 'null'].map((type) => schemaOf({ a: header('A', type) })),
    schemaOf({ a: header('Same'), b: header('same') }),
    schemaOf({ list: { type: 'array', items: header('A') } }),
    schemaOf({}, { anyOf: [schemaOf({ a: header('A') })] }),
    schemaOf({}, { 'x-mcp-header': 'Root' }),
  ]) {
    expect([wrong, declaresHeaders(wrong)]).toEqual([wrong, undefined]);
  }
});

let closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
});

/** A server on the SDK, which refuses a call whose headers and arguments differ. */
async function startServer() {
  const asked: string[] = [];
  const newServer = () => {
    const server = new McpServer({ name: 'routed', version: '1' });
    const region = z.string().meta({ 'x-mcp-header': 'Region' });
    server.registerTool('route', { inputSchema: z.object({ region }) }, async ({ region: text }) => ({
      content: [{ type: 'text', text }],
    }));
    const wrong = z.object({ a: z.number().meta({ 'x-mcp-header': 'A B' }) });
    server.registerTool('wrong', { inputSchema: wrong }, async () => ({ content: [] }));
    return server;
  };
  const handler = createMcpHandler(newServer);
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;
    asked.push(`${String(request.headers['mcp-method'])} ${String(request.headers['mcp-param-region'] ?? '')}`.trim());
    const init = { method: 'POST', headers: request.headers as Record<string, string>, body };
    const { status, headers, body: said } = await handler.fetch(new Request('http://localhost/mcp', init));
    response.writeHead(status, Object.fromEntries(headers));
    if (said === null) response.end();
    else Readable.fromWeb(said as never).pipe(response);
  };
  const http = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(http, 'listening');
  closing.push(
    () => http.closeAllConnections(),
    () => http.close(),
    () => handler.close(),
  );
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, asked };
}

async function connect(url: string): Promise<ToolConnection> {
  const bounds = { maxBytes: 1_000_000, connectMs: 10_000, totalMs: 30_000, maxExchanges: 16 };
  const signal = AbortSignal.timeout(30_000);
  const connection = await connectHttp(
    { url, headers: {}, bounds },
    { signal, cancelGraceMs: 1_000, startTimeoutMs: 20_000 },
  );
  closing.push(() => connection.close());
  return connection;
}

const call = (connection: ToolConnection, region: string) =>
  connection.callTool(
    { tool: 'route', arguments: { region }, meta: {} },
    { signal: AbortSignal.timeout(30_000), maxTimeoutMs: 30_000, onProgress: () => undefined },
  );

verifies(
  'tools.param-headers',
  'mirrored as the list said, or after a refusal; a wrong tool is not listed',
  async () => {
    const { url, asked } = await startServer();
    const knowing = await connect(url);
    const listed = await knowing.listTools(AbortSignal.timeout(30_000));
    expect(listed).toEqual([expect.objectContaining({ name: 'route' })]);
    asked.length = 0;
    expect(await call(knowing, '北京')).toMatchObject({ content: [{ text: '北京' }] });
    expect(asked).toEqual(['tools/call =?base64?5YyX5Lqs?=']);

    const unknowing = await connect(url);
    asked.length = 0;
    expect(await call(unknowing, 'eu')).toMatchObject({ content: [{ text: 'eu' }] });
    expect(asked).toEqual(['tools/call', 'tools/list', 'tools/call eu']);
    expect(await call(unknowing, 'us')).toMatchObject({ content: [{ text: 'us' }] });
    expect(asked.at(-1)).toBe('tools/call us');
  },
);
