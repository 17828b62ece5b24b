// News of a server of 2026-07-28 come on a stream that outlasts every call, and that is asked for again when it breaks.
import { EventEmitter, once } from 'node:events';
import { createServer, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { silentLogger } from '#libs/logging/logger.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import { McpServer, McpTool } from '#libs/mcp-server/decorators.js';
import { type HttpServing, serveOverHttp } from '#libs/mcp-server/serve-over-http.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import { verifies } from '../../../test/verifies.js';
import { openToolServers, type ToolServers } from '../../../test/support/tool-servers.js';

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

beforeAll(async () => {
  serving = await serveOverHttp(own, { logger: silentLogger });
  await once(front.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}/mcp`;
  servers = await openToolServers(
    { own: { url, timeout_ms: 200, max_timeout_ms: 200 } },
    { environment: { TOOLS_CANCEL_GRACE_MS: '10' } },
  );
});
afterAll(async () => {
  await servers?.close();
  front.closeAllConnections();
  front.close();
  await serving?.close();
});

verifies('tools.list-changed-heard', 'after the time of the longest call, and after a break', async () => {
  await servers.use('own', async (connection) => {
    const told = new EventEmitter();
    connection.onToolsChanged(() => told.emit('change'));
    const change = () => once(told, 'change', { signal: AbortSignal.timeout(10_000) });
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
