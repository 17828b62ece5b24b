// Servers that flood the streams that they may write to: with what is no message, with what is none of ours, on the
// answer of a call and on the stream for news. The connection ends; the next call begins another one.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Writable } from 'node:stream';
import { afterAll, beforeAll, expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';

type Rpc = { id?: unknown; method?: string; params?: { name: string; protocolVersion: string } };

const message = (value: object) => `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...value })}\n\n`;
const news = (text: string) => message({ method: 'notifications/message', params: { level: 'info', data: text } });

/** What the tool of each name floods with, and the bound that it meets. */
const floods: Record<string, [piece: string, bound: string]> = {
  comments: [': still here\n\n', 'noise'],
  commentLines: [':\n', 'noise'],
  emptyEvents: ['\r\n', 'noise'],
  otherTypes: ['event: tick\ndata: {}\n\n', 'noise'],
  largeComments: [`:${'x'.repeat(500_000)}\n\n`, 'noise'],
  notifications: [news('x'), 'unasked_messages'],
  largeNotifications: [news('x'.repeat(500_000)), 'unasked_messages'],
  notJson: ['data: {"jsonrpc"\n\n', 'unasked_messages'],
  beforeTheAnswer: ['HTTP/1.1 102 Processing\r\n\r\n', 'noise'],
  notRpc: ['data: {}\n\n', 'unasked_messages'],
};
/** The same code reads all streams: these show that each ends where it floods. */
const everywhere = ['comments', 'largeNotifications', 'notJson'];
const streams = { answer: Object.keys(floods), news: everywhere, old: everywhere };

const endless = (response: Writable, piece: string) => {
  const pieces = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
  const more = () =>
    void (response.destroyed || (response.write(pieces) ? setImmediate(more) : response.once('drain', more)));
  more();
};
const eventStream = (response: ServerResponse, headers = {}) => {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers }).flushHeaders();
  return response;
};

/** Streams of news, by session. */
const open = new Map<string, ServerResponse>();
let sessions = 0;

/** `/answer` floods the answer of the call, `/news` the stream that GET opens, `/old` the one of HTTP+SSE. */
const server = createServer((request, response) => void serve(request, response));
async function serve(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const { pathname, searchParams } = new URL(request.url!, 'http://server');
  const session = String(request.headers['mcp-session-id'] ?? searchParams.get('session'));
  if (request.method === 'DELETE') return response.writeHead(200).end();
  if (request.method === 'GET') {
    const own = pathname === '/old' ? `${(sessions += 1)}` : session;
    open.set(own, eventStream(response));
    server.emit(`open ${own}`);
    return pathname === '/old' && response.write(`event: endpoint\ndata: /old?session=${own}\n\n`);
  }
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const { id, method, params } = JSON.parse(Buffer.concat(parts).toString()) as Rpc;
  if (id === undefined) return response.writeHead(202).end();
  const serverInfo = { name: 'hostile', version: '1' };
  const result =
    method === 'initialize'
      ? { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo }
      : { content: [{ type: 'text', text: 'hello' }] };
  const known = method === 'initialize' || method === 'tools/call';
  const answer = { id, ...(known ? { result } : { error: { code: -32_601, message: 'no' } }) };
  const piece = method === 'tools/call' ? floods[params!.name]?.[0] : undefined;
  if (params?.name === 'beforeTheAnswer') return endless(response.socket!, piece!);
  if (pathname === '/answer') {
    return piece === undefined ? eventStream(response).end(message(answer)) : endless(eventStream(response), piece);
  }
  if (pathname === '/news' && piece === undefined) {
    const began = method === 'initialize' ? { 'mcp-session-id': `${(sessions += 1)}` } : {};
    return eventStream(response, began).end(message(answer));
  }
  // It comes for what it floods, or the answer is told there.
  if (!open.has(session)) await once(server, `open ${session}`);
  const stream = open.get(session)!;
  if (pathname === '/old') response.writeHead(202).end();
  else eventStream(response);
  return piece === undefined ? stream.write(message(answer)) : endless(stream, piece);
}
let servers: ToolServers;

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const configured = Object.keys(streams).map((name) => {
    const transport = name === 'old' ? 'sse' : 'http';
    return [name, { url: `${address}/${name}`, transport }];
  });
  servers = await openToolServers(Object.fromEntries(configured) as Record<string, object>);
});
afterAll(async () => {
  await servers?.close();
  server.closeAllConnections();
  server.close();
});

for (const [stream, tools] of Object.entries(streams)) {
  verifies('tools.hostile-events', `${stream}: each flood ends the connection, and nothing else`, async () => {
    for (const tool of tools) {
      await expect(servers.call(stream, tool), tool).rejects.toMatchObject({
        code: 'tool_crashed',
        message: expect.stringMatching(/more (?:messages|output) than (?:are|is) accepted/),
      });
      expect(servers.bounds.splice(0), tool).toEqual([`${stream}: ${floods[tool]![1]}`]);
      const { content } = await servers.call(stream, 'echo');
      expect(content, tool).toEqual([{ type: 'text', text: 'hello' }]);
    }
  });
}
