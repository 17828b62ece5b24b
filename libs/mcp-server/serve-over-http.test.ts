import { connect as connectTo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, expect } from 'vitest';
import { z } from 'zod';
import { maxPipelined } from '#libs/http-server/connections.js';
import { type LogFields, silentLogger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { mcpClients } from '../../test/support/mcp-clients.js';
import { rawRequest, type RawRequest } from '../../test/support/raw-request.js';
import { runProgram } from '../../test/support/run-program.js';
import { verifies } from '../../test/verifies.js';
import { ownClientName } from './call-meta.js';
import { createMcpServer } from './create-mcp-server.js';
import { McpServer, McpTool } from './decorators.js';
import { type HttpServing, type HttpServingOptions, serveOverHttp } from './serve-over-http.js';
import type { ToolContext } from './tool-context.js';
import type { ToolServer } from './tool-server.js';

const patient = { timeout: 10_000 };

@McpServer({ name: 'probe' })
class ProbeTools {
  running = 0;
  stopped = 0;
  /** The limits that refused something, according to the log. */
  readonly refused: unknown[] = [];
  release: () => void = () => undefined;

  @McpTool({ description: 'Says who asks.', input: z.object({}) })
  whoami(_input: object, { userId, sessionId }: ToolContext) {
    return { userId, session: sessionId ?? 'none' };
  }

  @McpTool({ description: 'Runs until it is released or cancelled.', input: z.object({}) })
  async hold(_input: object, { signal, reportProgress }: ToolContext): Promise<string> {
    this.running += 1;
    reportProgress(1, 2);
    await new Promise<void>((resolve) => {
      this.release = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    if (signal.aborted) this.stopped += 1;
    return 'released';
  }

  @McpTool({ description: 'Says more than the system keeps for a connection.', input: z.object({}) })
  large(): string {
    return 'x'.repeat(32 * 1024 * 1024);
  }
}

let closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
});

async function serve(options: Partial<HttpServingOptions> = {}) {
  const tools = new ProbeTools();
  const server: ToolServer = createMcpServer(tools, { logger: silentLogger });
  const warn = ({ metadata }: LogFields) => void tools.refused.push(metadata?.['limit']);
  const serving: HttpServing = await serveOverHttp(server, { logger: { ...silentLogger, warn }, ...options });
  closing.push(() => serving.close(0));
  return { tools, server, serving, origin: new URL(serving.url).origin };
}

async function connect(name: keyof typeof mcpClients, origin: string, onToolsChanged?: () => void) {
  const client = await mcpClients[name](origin, onToolsChanged);
  closing.push(() => client.close().catch(() => undefined));
  return client;
}

const clients = ['the 2.x client, 2026-07-28', 'the 2.x client, as before 2026', 'the 1.x client'] as const;

for (const name of clients) {
  verifies('tools.own-server-http', name, async () => {
    const { tools, server, origin } = await serve();
    let changes = 0;
    const client = await connect(name, origin, () => void changes++);
    expect((await client.listTools()).map((tool) => tool.name)).toEqual(['whoami', 'hold', 'large']);
    const whoami = await client.call({ name: 'whoami', arguments: {} });
    expect(whoami.structuredContent).toEqual({ userId: 'anonymous', session: client.sessionId ?? 'none' });

    const cancel = new AbortController();
    const reported: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void reported.push(progress);
    const call = client.call({ name: 'hold', arguments: {} }, { signal: cancel.signal, onprogress });
    const failed = expect(call).rejects.toThrow();
    await expect.poll(() => reported, patient).toEqual([1]);
    cancel.abort();
    await failed;
    await expect.poll(() => tools.stopped, patient).toBe(1);

    // The client's stream may not be open yet, and earlier notifications are lost.
    const options = { description: 'Came later.', input: z.object({}) };
    let added = 0;
    await expect
      .poll(() => {
        server.register({ name: `late_${++added}`, place: 'this test', options, handler: () => 'here' });
        return changes;
      }, patient)
      .toBeGreaterThan(0);
    expect((await client.listTools()).map((tool) => tool.name)).toContain('late_1');
    server.remove('late_1');
    await expect(client.call({ name: 'late_1' })).rejects.toMatchObject({ code: -32_602 });
  });
}

verifies('tools.own-server-http', 'what it refuses, and plain JSON', async () => {
  const { origin } = await serve({
    allowedHosts: ['Tools.Example'],
    allowedOrigins: ['https://app.example'],
    maxBodyBytes: 1_000,
  });
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const manyHeaders = Object.fromEntries(Array.from({ length: 1_500 }, (_, at) => [`h${at}`, '']));
  const ask = (given: Partial<RawRequest>) =>
    rawRequest(origin, { path: '/mcp', ...(given.method === 'GET' ? {} : { body: JSON.stringify(ping) }), ...given });
  const cases: [Partial<RawRequest>, number, string][] = [
    [{ headers: { host: 'evil.example' } }, 403, 'host_forbidden'],
    [{ headers: { origin: 'https://evil.example' } }, 403, 'origin_forbidden'],
    [{ headers: { ...manyHeaders, origin: 'https://evil.example' } }, 403, 'origin_forbidden'],
    [{ headers: { 'content-type': 'text/plain' } }, 415, 'unsupported_media_type'],
    [{ path: '/other' }, 404, 'not_found'],
    [{ method: 'PUT' }, 405, 'method_not_allowed'],
    [{ method: 'GET', headers: { 'content-type': null } }, 405, 'method_not_allowed'],
    [{ body: 'ping' }, 400, 'invalid_json'],
    [{ body: JSON.stringify({ ...ping, params: { text: 'x'.repeat(1_000) } }) }, 413, 'request_too_large'],
    [{ headers: { 'mcp-session-id': 'sess_none' } }, 404, 'session_not_found'],
  ];
  for (const [request, status, code] of cases) {
    const answer = await ask(request);
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([status, { error: { data: { code } } }]);
  }
  const welcome: Record<string, string>[] = [{ host: 'tools.example' }, { origin: 'https://app.example' }, { origin }];
  for (const headers of welcome) {
    expect(JSON.parse((await ask({ headers })).text)).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  }
});

/** Reads only when it has sent everything, as `http.client` and `requests` do. */
const writesFirst = `
import http.client, sys
connection = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]), timeout=20)
for body in (b'x' * ${32 * 1024 * 1024}, b'{"jsonrpc":"2.0","id":1,"method":"ping"}'):
    connection.request('POST', '/mcp', body, {'content-type': 'application/json'})
    answer = connection.getresponse()
    print(answer.status, answer.getheader('connection'), len(answer.read()) > 0)
`;

verifies(
  'tools.own-server-http',
  'a body above the limit: every client reads why, and the next request is served',
  async () => {
    const { origin } = await serve();
    const { hostname, port } = new URL(origin);
    const body = 'x'.repeat(32 * 1024 * 1024);
    const headers = { 'content-type': 'application/json' };
    const post = (given: string) => fetch(`${origin}/mcp`, { method: 'POST', headers, body: given });
    const refused = await post(body);
    expect([refused.status, await refused.json()]).toMatchObject([
      413,
      { error: { data: { code: 'request_too_large' } } },
    ]);
    expect((await post('{"jsonrpc":"2.0","id":1,"method":"ping"}')).status).toBe(200);
    // Refused by its type, before anything of the body was read.
    expect(
      (await fetch(`${origin}/mcp`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body })).status,
    ).toBe(415);
    const python = await runProgram('python3', ['-c', writesFirst, hostname, port], { timeoutMs: 30_000 });
    expect(python.stdout.trim().split('\n')).toEqual(['413 keep-alive True', '200 keep-alive True']);
    const curl = await runProgram(
      'sh',
      [
        '-c',
        `head -c 33554432 /dev/zero | curl -s -o /dev/null -w '%{http_code}' -H 'content-type: application/json' --data-binary @- ${origin}/mcp`,
      ],
      { timeoutMs: 30_000 },
    );
    expect([curl.code, curl.stdout]).toEqual([0, '413']);
  },
);

/** A connection on which several calls of a tool are sent in one write. */
function pipeline(serving: HttpServing, tool: string, calls: number) {
  const { host, port, pathname } = new URL(serving.url);
  const socket = connectTo(Number(port), '127.0.0.1');
  closing.push(async () => void socket.destroy());
  socket.on('error', () => undefined);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: {} } });
  const headers = `Host: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  socket.write(`POST ${pathname} HTTP/1.1\r\n${headers}\r\n\r\n${body}`.repeat(calls));
  return socket;
}

verifies(
  'reliability.pipelines',
  'an own server: as many as the bound, one refusal; all end with their client',
  async () => {
    const { tools, serving } = await serve();
    const socket = pipeline(serving, 'hold', 100);
    await expect.poll(() => tools.running, patient).toBe(maxPipelined);
    expect(tools.refused).toEqual(['pipelined_requests']);
    socket.destroy();
    await expect.poll(() => tools.stopped, patient).toBe(maxPipelined);
    expect(tools.running).toBe(maxPipelined);
  },
);

verifies('reliability.stuck-readers', 'an own server: a whole answer that nobody takes', async () => {
  const { tools, serving } = await serve({ stuckReaderMs: 100 });
  pipeline(serving, 'large', 1);
  await expect.poll(() => tools.refused, patient).toEqual(['stuck_readers']);
});

verifies('tools.own-server-http', 'a stop ends what waits, lets a call end, and takes nothing new', async () => {
  const { tools, serving, origin } = await serve();
  const client = await connect('the 1.x client', origin);
  const listening = await fetch(serving.url, { headers: { 'mcp-session-id': client.sessionId! } }).catch(
    () => undefined,
  );
  const call = client.call({ name: 'hold', arguments: {} });
  await expect.poll(() => tools.running, patient).toBe(1);
  const closed = serving.close();
  await listening?.text();
  await expect(connect('the 1.x client', origin)).rejects.toThrow();
  tools.release();
  expect((await call).content).toEqual([{ type: 'text', text: 'released' }]);
  await closed;
});

verifies('tools.own-server-http', 'a stop whose grace is over', async () => {
  const { tools, serving, origin } = await serve();
  const client = await connect('the 2.x client, 2026-07-28', origin);
  const call = client.call({ name: 'hold', arguments: {} });
  const failed = expect(call).rejects.toThrow();
  await expect.poll(() => tools.running, patient).toBe(1);
  await serving.close(50);
  await failed;
  expect(tools.stopped).toBe(1);
});

verifies('tools.own-server-authenticates', 'each caller by its key, and not for a session of another', async () => {
  const { origin, serving } = await serve({
    authenticate: ({ headers }) => {
      const [, user] = /^Bearer key-of-(\w+)$/.exec(headers.authorization ?? '') ?? [];
      if (user === undefined) throw new AppError('invalid_api_key', 'Show a key');
      return user;
    },
    pages: { '/health/live': async () => ({ status: 200, contentType: 'text/plain', text: 'alive' }) },
  });
  const ask = (user: string | undefined, message: object, headers: Record<string, string> = {}) =>
    rawRequest(origin, {
      path: '/mcp',
      headers: {
        accept: 'application/json, text/event-stream',
        ...(user === undefined ? {} : { authorization: `Bearer key-of-${user}` }),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
    });
  const whoami = { method: 'tools/call', params: { name: 'whoami', arguments: {} } };
  expect((await ask('ann', whoami)).text).toContain('"userId":"ann"');
  const refused = await ask(undefined, whoami);
  expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer']);
  const clientInfo = { name: 'test', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const session = {
    'mcp-session-id': (await ask('ann', { method: 'initialize', params })).headers['mcp-session-id'] as string,
  };
  expect((await ask('ann', whoami, session)).text).toContain('"userId":"ann"');
  expect((await ask('bob', whoami, session)).status).toBe(404);
  expect(await (await fetch(`${new URL(serving.url).origin}/health/live`)).text()).toBe('alive');
  const posted = await fetch(`${origin}/health/live`, {
    method: 'POST',
    headers: { authorization: 'Bearer key-of-x' },
  });
  expect(posted.status).toBe(404);
});

for (const mode of ['auto', 'legacy'] as const) {
  verifies(
    'mcp.names',
    `a server of one's own, ${mode}: a client sees names that it takes, a worker the own ones`,
    async () => {
      const { server, serving } = await serve();
      const options = { description: 'Asks.', input: z.object({}) };
      server.register({ name: 'own/ask', place: 'this test', options, handler: () => 'asked' });
      const listed = async (name: string) => {
        const client = new Client({ name, version: '1' }, { versionNegotiation: { mode } });
        await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)));
        closing.push(() => client.close());
        for (const called of ['own/ask', 'own_ask']) {
          expect(await client.callTool({ name: called })).toMatchObject({ content: [{ type: 'text', text: 'asked' }] });
        }
        return (await client.listTools()).tools.at(-1);
      };
      expect(await listed('claude-ai')).toMatchObject({ name: 'own_ask', title: 'own/ask' });
      const own = await listed(ownClientName);
      expect(own).toMatchObject({ name: 'own/ask' });
      expect(own).not.toHaveProperty('title');
      expect(server.list().at(-1)).toMatchObject({ name: 'own/ask' });
    },
  );
}
