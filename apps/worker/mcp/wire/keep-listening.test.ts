// News of a server come on a stream that outlasts every call, and that is asked for again when it breaks: of 2026-07-28 by
// us, of the era before by GET. With the stream of HTTP+SSE its session is gone, and another one is begun.
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { silentLogger } from '#libs/logging/logger.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import { McpServer, McpTool } from '#libs/mcp-server/decorators.js';
import { type HttpServing, serveOverHttp } from '#libs/mcp-server/serve-over-http.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import { verifies } from '../../../../test/verifies.js';
import { openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';

@McpServer({ name: 'own' })
class OwnTools {
  @McpTool({ description: 'Waits until it is cancelled.', input: z.object({}) })
  async wait(_input: object, { signal }: ToolContext): Promise<string> {
    if (!signal.aborted) await once(signal, 'abort');
    return 'cancelled';
  }
}

const own = createMcpServer(new OwnTools(), { logger: silentLogger });
const empty = { description: 'Nothing.', input: z.object({}) };
const add = (name: string) => own.register({ name, place: 'here', options: empty, handler: () => 'x' });
let serving: HttpServing;
let servers: ToolServers;
/** The streams that news were asked for on. */
const streams: ServerResponse[] = [];

/** In front of the server, as a proxy is. */
const front = createServer((request, response) => {
  if (request.headers['mcp-method'] === 'subscriptions/listen') streams.push(response);
  const { method, headers } = request;
  const onward = httpRequest(serving.url, { method: method!, headers }, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers);
    answer.on('error', () => response.destroy()).pipe(response);
  });
  response.on('close', () => onward.destroy());
  request.pipe(onward.on('error', () => response.destroy()));
});

/** Of the era before: `/mcp` or `/sse`. Its streams, and what they are refused with meanwhile. */
const older = { tools: ['one'], open: new Set<ServerResponse>(), refuse: 0, refused: 0 };
const olderServer = createServer((request, response) => void serveOlder(request, response));

async function serveOlder(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const sse = request.url !== '/mcp';
  if (request.method === 'GET') {
    if (older.refuse > older.refused) return void response.writeHead(503, { 'x-at': (older.refused += 1) }).end();
    older.open.add(response);
    response.once('close', () => older.open.delete(response));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(sse ? 'event: endpoint\ndata: /messages\n\n' : 'retry: 250\n\n');
    return void olderServer.emit('stream');
  }
  if (request.method === 'DELETE') return void response.writeHead(200).end();
  const { id, method, params } = JSON.parse(await readText(request)) as {
    id?: number;
    method: string;
    params?: { protocolVersion: string };
  };
  if (id === undefined) return void response.writeHead(202).end();
  const result =
    method === 'tools/list'
      ? { tools: older.tools.map((name) => ({ name, inputSchema: { type: 'object' } })) }
      : {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'older', version: '1' },
        };
  const unknown = method !== 'tools/list' && method !== 'initialize';
  const answer = { jsonrpc: '2.0', id, ...(unknown ? { error: { code: -32_601, message: 'no' } } : { result }) };
  if (!sse) {
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's1' });
    return void response.end(JSON.stringify(answer));
  }
  response.writeHead(202).end();
  for (const stream of older.open) stream.write(`data: ${JSON.stringify(answer)}\n\n`);
}

beforeAll(async () => {
  await once(olderServer.listen(0, '127.0.0.1'), 'listening');
  const at = `http://127.0.0.1:${(olderServer.address() as AddressInfo).port}`;
  serving = await serveOverHttp(own, { logger: silentLogger });
  await once(front.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}/mcp`;
  servers = await openToolServers(
    {
      own: { url, timeout_ms: 200, max_timeout_ms: 200 },
      http: { url: `${at}/mcp`, transport: 'http' },
      sse: { url: `${at}/sse`, transport: 'sse' },
    },
    { environment: { TOOLS_CANCEL_GRACE_MS: '10' } },
  );
});
afterAll(async () => {
  await servers?.close();
  for (const each of [front, olderServer]) {
    each.closeAllConnections();
    each.close();
  }
  await serving?.close();
});

verifies('tools.list-changed-heard', 'after the time of the longest call, and after a break', async () => {
  await servers.use('own', async (connection) => {
    const reported = new EventEmitter();
    connection.onListChanged(() => reported.emit('change'));
    const change = () => once(reported, 'change', { signal: AbortSignal.timeout(10_000) });
    const options = { signal: AbortSignal.timeout(10_000), maxTimeoutMs: 10_000, onProgress: () => undefined };
    // Of its own exchange: it began after that of the stream.
    const late = connection.callTool({ tool: 'wait', arguments: {}, meta: {} }, options);
    await expect(late).rejects.toMatchObject({ code: 'tool_timeout' });
    const first = change();
    add('one');
    await first;
    expect(streams).toHaveLength(1);

    const back = change();
    streams[0]!.destroy();
    await back;
    expect(streams).toHaveLength(2);
    const second = change();
    add('two');
    await second;
  });
});

const names = (listed: unknown[]) => listed.map((tool) => (tool as { name: string }).name);

for (const transport of ['http', 'sse'] as const) {
  verifies('tools.list-changed-heard', `${transport}: before 2026, after a stream that broke`, async () => {
    const signal = AbortSignal.timeout(20_000);
    Object.assign(older, { tools: ['one'], refuse: 0, refused: 0 });
    const streaming = once(olderServer, 'stream', { signal });
    await servers.use(transport, async (connection) => {
      const reported = new EventEmitter();
      let changes = 0;
      connection.onListChanged(() => reported.emit('change', (changes += 1)));
      await streaming;
      const changed = once(reported, 'change', { signal });
      older.tools = ['two'];
      // The SDK would ask no more.
      older.refuse = transport === 'http' ? 2 : 0;
      for (const stream of older.open) stream.destroy();
      await changed;
      expect([older.refused, changes]).toEqual([older.refuse, 1]);
    });
    expect(names(await servers.use(transport, (connection) => connection.listTools(signal)))).toEqual(['two']);
  });
}
