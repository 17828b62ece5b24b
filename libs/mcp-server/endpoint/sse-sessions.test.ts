import { createParser } from 'eventsource-parser';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { expect } from 'vitest';
import { z } from 'zod';
import { silentLogger } from '#libs/logging/logger.js';
import { serveEndpoint } from '../../../test/support/serve-endpoint.js';
import { verifies } from '../../../test/verifies.js';
import { createMcpServer } from '../create-mcp-server.js';
import { McpServer, McpTool } from '../decorators.js';
import type { ToolContext } from '../tool-context.js';
import { exchangeOf, type McpExchange } from './exchange.js';
import type { McpEndpoint, McpEndpointLimits } from './mcp-endpoint.js';
import { readFrames } from './read-frames.js';

const patient = { timeout: 10_000 };

@McpServer({ name: 'probe' })
class ProbeTools {
  started = 0;
  stopped = 0;

  @McpTool({ description: 'Runs until it is cancelled.', input: z.object({}) })
  async hold(_input: object, { signal }: ToolContext): Promise<string> {
    this.started += 1;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    this.stopped += 1;
    return 'late';
  }

  @McpTool({ description: 'Tells how far it is.', input: z.object({}) })
  step(_input: object, { reportProgress }: ToolContext): string {
    reportProgress(1);
    return 'stepped';
  }

  @McpTool({ description: 'Says much.', input: z.object({ bytes: z.number() }) })
  say({ bytes }: { bytes: number }): string {
    return 'x'.repeat(bytes);
  }
}

function openEndpoint(limits: Partial<McpEndpointLimits> = {}) {
  const tools = new ProbeTools();
  const server = createMcpServer(tools, { logger: silentLogger });
  return { ...serveEndpoint(server, limits), tools, server };
}

function exchange(principal = 'local') {
  const gone = new AbortController();
  const ended: true[] = [];
  const context = { principal, requestId: 'req_1', signal: gone.signal, deadline: new Deadline(steadyNow() + 10_000) };
  const made: McpExchange = {
    context,
    streams: true,
    readerBehind: false,
    goesOn: [],
    atEnd: [() => void ended.push(true)],
  };
  return { made, gone, ended };
}

/** A stream as seen by a client: events are read only on request. */
async function openStream(endpoint: McpEndpoint, principal?: string) {
  const { made, gone } = exchange(principal);
  const response = await endpoint.openStream('/sse/messages', made);
  const reader = response.body!.getReader();
  const events: { event?: string | undefined; data: string }[] = [];
  const parser = createParser({ onEvent: (event) => void events.push(event) });
  const next = async () => {
    while (events.length === 0) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      parser.feed(new TextDecoder().decode(value));
    }
    return events.shift();
  };
  const session = /^\/sse\/messages\?sessionId=(\w+)$/.exec((await next())!.data)![1]!;
  const post = (body: object, from = principal) => {
    const posted = exchange(from);
    const request = new Request('http://gateway/sse');
    endpoint.receive(session, request, posted.made, readFrames(body));
    return { ...posted, request };
  };
  const leave = () => {
    gone.abort();
    void reader.cancel();
    for (const end of made.atEnd) end();
  };
  return { made, session, next, post, leave };
}

const rpc = (id: number, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });
const call = (id: number, name: string, args: object = {}) => rpc(id, 'tools/call', { name, arguments: args });
const cancelled = (requestId: number) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
const greeting = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } };

verifies('mcp.sse', 'answers come on the stream, and end what they answer', async () => {
  const { endpoint, server } = openEndpoint();
  try {
    const client = await openStream(endpoint);
    const first = client.post(rpc(1, 'initialize', greeting));
    expect(JSON.parse((await client.next())!.data)).toMatchObject({ result: { protocolVersion: '2024-11-05' } });
    expect(first.ended).toEqual([true]);
    const pair = client.post([rpc(2, 'ping'), rpc(3, 'no/such')]);
    expect(pair.ended).toEqual([]);
    expect(JSON.parse((await client.next())!.data)).toMatchObject({ id: 3, error: { code: -32_601 } });
    expect(JSON.parse((await client.next())!.data)).toMatchObject({ id: 2, result: {} });
    expect(pair.ended).toEqual([true]);
    server.remove('say');
    expect(JSON.parse((await client.next())!.data)).toMatchObject({ method: 'notifications/tools/list_changed' });
    client.made.readerBehind = true;
    const { readerBehind, context } = exchangeOf(pair.request);
    expect(readerBehind).toBe(true);
    // The signal of the stream: the request has ended, its answer has not.
    expect(context.signal).toBe(client.made.context.signal);
  } finally {
    await endpoint.close();
  }
});

verifies('mcp.progress', 'SSE: the result waits until progress was read, and not for who does not say so', async () => {
  const { endpoint } = openEndpoint();
  const step = (id: number) => rpc(id, 'tools/call', { name: 'step', arguments: {}, _meta: { progressToken: id } });
  try {
    const client = await openStream(endpoint);
    const next = async () => JSON.parse((await client.next())!.data) as { id?: unknown; method?: string };
    const first = client.post(step(1));
    expect(await next()).toMatchObject({ method: 'notifications/progress', params: { progress: 1 } });
    const { id, method } = await next();
    expect([method, first.ended]).toEqual(['ping', []]);
    expect(client.post({ jsonrpc: '2.0', id, result: {} }).ended).toEqual([true]);
    expect(await next()).toMatchObject({ id: 1 });
    for (const silent of [2, 3]) {
      client.post(step(silent));
      expect(await next()).toMatchObject({ method: 'notifications/progress' });
      if (silent === 2) expect(await next()).toMatchObject({ method: 'ping' });
      expect(await next()).toMatchObject({ id: silent });
    }
    const other = await openStream(endpoint);
    const left = other.post(step(4));
    while (JSON.parse((await other.next())!.data).method !== 'ping');
    other.leave();
    await expect.poll(() => left.ended, patient).toEqual([true]);
  } finally {
    await endpoint.close();
  }
});

verifies('mcp.sse', 'what is cancelled is over; a client that goes stops its tools', async () => {
  const { endpoint, tools } = openEndpoint();
  try {
    const client = await openStream(endpoint);
    const held = client.post(call(1, 'hold'));
    expect(() => client.post(rpc(1, 'ping'))).toThrow(expect.objectContaining({ param: 'id' }));
    await expect.poll(() => tools.started, patient).toBe(1);
    client.post(cancelled(1));
    await expect.poll(() => held.ended, patient).toEqual([true]);
    await expect.poll(() => tools.stopped, patient).toBe(1);
    // Cancelled before it was answered.
    expect(client.post([rpc(2, 'ping'), cancelled(2)]).ended).toEqual([true]);
    client.post(rpc(2, 'ping'));
    expect(JSON.parse((await client.next())!.data)).toMatchObject({ id: 2, result: {} });
    const left = client.post(call(3, 'hold'));
    await expect.poll(() => tools.started, patient).toBe(2);
    client.leave();
    await expect.poll(() => [left.ended, tools.stopped], patient).toEqual([[true], 2]);
    expect(() => client.post(rpc(4, 'ping'))).toThrow(expect.objectContaining({ code: 'session_not_found' }));
  } finally {
    await endpoint.close();
  }
});

verifies(
  'mcp.bounded',
  'SSE sessions in number, idle time and unread answers, and of their principal only',
  async () => {
    const { endpoint, refused } = openEndpoint({ sessions: 1 });
    const idle = openEndpoint({ sessionIdleMs: 20 });
    try {
      const evicted = await openStream(endpoint);
      const client = await openStream(endpoint);
      expect(await evicted.next()).toBeUndefined();
      expect(() => client.post(rpc(1, 'ping'), 'someone')).toThrow(
        expect.objectContaining({ code: 'session_not_found' }),
      );
      const stranger = new Request('http://gateway/mcp', { headers: { 'mcp-session-id': client.session } });
      await expect(endpoint.answer(stranger, exchange().made)).rejects.toMatchObject({ code: 'session_not_found' });
      const running = client.post(call(1, 'hold'));
      await expect(openStream(endpoint)).rejects.toMatchObject({ code: 'concurrency_exceeded' });
      client.post(cancelled(1));
      await expect.poll(() => running.ended, patient).toEqual([true]);

      const large = client.post(call(2, 'say', { bytes: 5_000_000 }));
      await expect.poll(() => large.ended, patient).toEqual([true]);
      // A single message above the bound is accepted, but further ones are refused while it is unread.
      expect(() => client.post(rpc(3, 'ping'))).toThrow(expect.objectContaining({ code: 'concurrency_exceeded' }));
      expect(refused).toEqual(['evicted', 'mcp_sessions', 'mcp_unread_answers']);
      expect((await client.next())!.data.length).toBeGreaterThan(5_000_000);
      client.post(rpc(3, 'ping'));
      expect(JSON.parse((await client.next())!.data)).toMatchObject({ id: 3 });

      const quiet = await openStream(idle.endpoint);
      expect(await quiet.next()).toBeUndefined();
    } finally {
      await Promise.all([endpoint.close(), idle.endpoint.close()]);
    }
  },
);

verifies('mcp.stops', 'SSE streams: an idle one ends at once, one that runs a tool with the endpoint', async () => {
  const { endpoint, tools } = openEndpoint();
  const idle = await openStream(endpoint);
  const busy = await openStream(endpoint);
  busy.post(call(1, 'hold'));
  await expect.poll(() => tools.started, patient).toBe(1);
  endpoint.stopWaiting();
  expect(await idle.next()).toBeUndefined();
  busy.post(rpc(2, 'ping'));
  expect(JSON.parse((await busy.next())!.data)).toMatchObject({ id: 2 });
  await endpoint.close();
  expect(await busy.next()).toBeUndefined();
  await expect.poll(() => tools.stopped, patient).toBe(1);
});
