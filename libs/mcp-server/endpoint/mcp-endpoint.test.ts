import { expect } from 'vitest';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { z } from 'zod';
import { silentLogger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { serveEndpoint } from '../../../test/support/serve-endpoint.js';
import { verifies } from '../../../test/verifies.js';
import { createMcpServer } from '../create-mcp-server.js';
import { McpServer, McpTool } from '../decorators.js';
import type { ToolContext } from '../tool-context.js';
import type { McpExchange } from './exchange.js';
import type { McpEndpoint, McpEndpointLimits } from './mcp-endpoint.js';
import { readFrames } from './read-frames.js';

@McpServer({ name: 'probe' })
class ProbeTools {
  @McpTool({ description: 'Runs until it is cancelled.', input: z.object({}) })
  async hold(_input: object, { signal }: ToolContext): Promise<string> {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return 'late';
  }
}

const greeting = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

function openEndpoint(limits: Partial<McpEndpointLimits>) {
  return serveEndpoint(createMcpServer(new ProbeTools(), { logger: silentLogger }), limits);
}

/** Sends one request and ends it like the HTTP server; `ended: false` leaves it in progress. */
async function ask(
  endpoint: McpEndpoint,
  body: object,
  { headers = {}, principal = 'local', ended = true }: { headers?: object; principal?: string; ended?: boolean } = {},
) {
  const gone = new AbortController();
  const context = { principal, requestId: 'req_1', signal: gone.signal, deadline: new Deadline(steadyNow() + 10_000) };
  const exchange: McpExchange = { context, streams: true, readerBehind: false, atEnd: [], goesOn: [] };
  const accept = 'application/json, text/event-stream';
  const request = new Request('http://gateway/mcp', {
    method: 'POST',
    headers: { accept, 'content-type': 'application/json', ...headers },
    signal: gone.signal,
  });
  const end = () => {
    gone.abort();
    for (const each of exchange.atEnd) each();
  };
  try {
    const response = await endpoint.answer(request, exchange, readFrames(body));
    return { response, exchange, session: { 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' }, end };
  } finally {
    if (ended) end();
  }
}

const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });

const call = (id: number, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

verifies(
  'mcp.bounded',
  'sessions in number: the longest idle one makes room, one that runs a tool does not',
  async () => {
    const { endpoint, refused } = openEndpoint({ sessions: 2 });
    const ping1 = async (session: object) => (await ask(endpoint, ping(1), { headers: session })).response.status;
    try {
      const first = (await ask(endpoint, greeting)).session;
      const second = (await ask(endpoint, greeting)).session;
      const running = await ask(endpoint, call(2, 'hold'), { headers: second, ended: false });
      expect(await ping1(first)).toBe(200);
      const third = (await ask(endpoint, greeting)).session;
      expect(refused).toEqual(['evicted']);
      // The error that the evicted client gets, and its reaction.
      await expect(ping1(first)).rejects.toMatchObject({ code: 'session_not_found', http: 404 });
      expect(await ping1(second)).toBe(200);
      const busy = await ask(endpoint, call(3, 'hold'), { headers: third, ended: false });
      await expect(ask(endpoint, greeting)).rejects.toMatchObject({ code: 'concurrency_exceeded', http: 429 });
      expect(refused).toEqual(['evicted', 'mcp_sessions']);
      busy.end();
      const again = (await ask(endpoint, greeting)).session;
      expect(await ping1(again)).toBe(200);
      running.end();
    } finally {
      await endpoint.close();
    }
  },
);

verifies('mcp.bounded', "a session is its principal's only", async () => {
  const { endpoint } = openEndpoint({});
  try {
    const { session } = await ask(endpoint, greeting);
    const stranger = ask(endpoint, ping(2), { headers: session, principal: 'someone' });
    await expect(stranger).rejects.toMatchObject({ code: 'session_not_found' });
  } finally {
    await endpoint.close();
  }
});

verifies(
  'mcp.bounded',
  'what a session is told besides answers: on a stream that it holds open, and is read',
  async () => {
    const { endpoint } = openEndpoint({});
    try {
      const { session } = await ask(endpoint, greeting);
      const { exchange } = await ask(endpoint, ping(2), { headers: session });
      expect(exchange.sessionStream?.()).toBeUndefined();
      const context = { ...exchange.context, signal: new AbortController().signal };
      const stream: McpExchange = { context, streams: true, readerBehind: true, atEnd: [], goesOn: [] };
      const headers = { accept: 'text/event-stream', ...session };
      await endpoint.answer(new Request('http://gateway/mcp', { headers }), stream);
      expect(exchange.sessionStream?.()).toBe(stream);
      for (const each of stream.atEnd) each();
      expect(exchange.sessionStream?.()).toBeUndefined();
    } finally {
      await endpoint.close();
    }
  },
);

verifies('mcp.bounded', 'sessions in idle time; one with a request under way stays', async () => {
  const { endpoint } = openEndpoint({ sessionIdleMs: 20 });
  try {
    const { session } = await ask(endpoint, greeting);
    const busy = await ask(endpoint, greeting, { ended: false });
    await expect
      .poll(() => ask(endpoint, ping(2), { headers: session }).catch((error: AppError) => error.code), {
        interval: 100,
        timeout: 10_000,
      })
      .toBe('session_not_found');
    expect((await ask(endpoint, ping(3), { headers: busy.session })).response.status).toBe(200);
    busy.end();
  } finally {
    await endpoint.close();
  }
});

verifies('mcp.bounded', 'subscriptions', async () => {
  const { endpoint, refused } = openEndpoint({ subscriptions: 1 });
  const listen = {
    jsonrpc: '2.0',
    id: 1,
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true }, _meta: modernMeta },
  };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
  try {
    const first = await ask(endpoint, listen, { headers, ended: false });
    expect(first.response.status).toBe(200);
    await expect(ask(endpoint, listen, { headers })).rejects.toMatchObject({ code: 'concurrency_exceeded' });
    expect(refused).toEqual(['mcp_subscriptions']);
    first.end();
    expect((await ask(endpoint, listen, { headers })).response.status).toBe(200);
  } finally {
    await endpoint.close();
  }
});

verifies('mcp.bad-frames', 'initialize, in words of the revision that knows it no more', async () => {
  const { endpoint } = openEndpoint({});
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'initialize' };
  try {
    const { response } = await ask(endpoint, { ...greeting, params: { _meta: modernMeta } }, { headers });
    expect([response.status, await response.json()]).toMatchObject([404, { id: 1, error: { code: -32_601 } }]);
    expect(() => readFrames({ ...greeting, params: {} })).toThrow(expect.objectContaining({ param: 'params' }));
  } finally {
    await endpoint.close();
  }
});

verifies('mcp.bad-frames', 'two requests of one id at once in a session', async () => {
  const { endpoint } = openEndpoint({});
  try {
    const { session } = await ask(endpoint, greeting);
    const first = await ask(endpoint, ping(7), { headers: session, ended: false });
    await expect(ask(endpoint, ping(7), { headers: session })).rejects.toMatchObject({ param: 'id' });
    expect(() => readFrames([ping(8), ping(8)])).toThrow(expect.objectContaining({ param: 'id' }));
    first.end();
    expect((await ask(endpoint, ping(7), { headers: session })).response.status).toBe(200);
  } finally {
    await endpoint.close();
  }
});
