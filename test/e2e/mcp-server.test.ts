// The gateway as an MCP server, judged by the official clients, with real queue, journal and worker.
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { z } from 'zod';
import { McpController } from '../../apps/gateway/http/mcp/mcp.controller.js';
import { TurnAdmission } from '../../apps/gateway/govern/turn-admission.js';
import { bridge, lateSseClient, mcpClients, type McpCaller, stdioClient, withClients } from '../support/mcp-clients.js';
import { type OpenMcpServer, openMcpServer } from '../support/open-mcp-server.js';
import { queuePathOfFile } from '../support/queue-path.js';
import { rawRequest, type RawRequest } from '../support/raw-request.js';
import { runProgram } from '../support/run-program.js';
import { verifies } from '../verifies.js';

const path = queuePathOfFile({ TOOLS_WORKER_WAIT_MS: '200' });
let server: OpenMcpServer;
let url: string;

beforeAll(async () => {
  path.worker.server.register({
    name: 'sum',
    place: 'this test',
    options: {
      description: 'Adds.',
      input: z.object({ a: z.number(), b: z.number() }),
      output: z.object({ sum: z.number() }),
    },
    handler: ({ a, b }) => ({ sum: Number(a) + Number(b) }),
  });
  server = await openMcpServer(path.services, path.gateway);
  url = server.url;
  await vi.waitUntil(() => path.gateway.catalog.find('sum') !== undefined, { timeout: 15_000 });
});
afterAll(() => server?.close());

const post = (body: unknown, headers: RawRequest['headers'] = {}) =>
  rawRequest(url, { path: '/mcp', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
const rpc = (method: string, params: object = {}, id: number = 1) => ({ jsonrpc: '2.0', id, method, params });
const greeting = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'curl', version: '1' } };
const endOf = (session: string): RawRequest => ({
  method: 'DELETE',
  path: '/mcp',
  headers: { 'content-type': null, 'mcp-session-id': session },
});
const text = (value: string) => [{ type: 'text', text: value }];

for (const [name, connect] of Object.entries(mcpClients)) {
  const withClient = (body: (client: McpCaller) => Promise<void>) =>
    withClients(url, [name as keyof typeof mcpClients], body);

  verifies('mcp.lists', name, () =>
    withClient(async (client) => {
      const tools = await client.listTools();
      expect(tools.map((tool) => tool.name)).toEqual(expect.arrayContaining(['echo', 'append', 'slow', 'sum']));
      expect(tools.find((tool) => tool.name === 'echo')).toMatchObject({
        description: 'Says it again.',
        inputSchema: { type: 'object', required: ['text'] },
        annotations: { readOnlyHint: true },
        _meta: { 'signalbox/server': 'workspace' },
      });
      expect(await client.request('tools/describe', { name: 'echo' })).toMatchObject({
        tool: tools.find((tool) => tool.name === 'echo')!,
      });
      await expect(client.request('tools/describe', { name: 'none' })).rejects.toMatchObject({
        code: -32_602,
        data: { code: 'tool_not_found' },
      });
    }),
  );

  verifies('mcp.calls', name, () =>
    withClient(async (client) => {
      expect((await client.call({ name: 'append', arguments: { text: name } })).content).toEqual(text('appended'));
      expect(path.worker.probe.effects).toContain(name);
      await client.listTools();
      const sum = await client.call({ name: 'sum', arguments: { a: 1, b: 2 } });
      expect(sum.structuredContent).toEqual({ sum: 3 });
      const callId = sum._meta!['signalbox/call_id'];
      const [row] = await path.services.rows<{ state: string }>('select state from tool_calls where id = $1', [callId]);
      expect(row).toEqual({ state: 'completed' });
    }),
  );

  verifies('mcp.failures', name, () =>
    withClient(async (client) => {
      const codeOf = async (tool: string, args: object) => {
        const { isError, content, _meta } = await client.call({ name: tool, arguments: args });
        expect(isError).toBe(true);
        expect(JSON.stringify(content)).not.toContain('secret');
        return _meta!['signalbox/error_code'];
      };
      expect(await codeOf('fail', {})).toBe('tool_failed');
      expect(await codeOf('fail', { code: 'x' })).toBe('path_outside_workspace');
      expect(await codeOf('echo', { text: 5 })).toBe('invalid_tool_arguments');
      server.errors.length = 0;
      const unknown = { code: -32_602, data: { code: 'tool_not_found', tool_name: 'unknown_tool' } };
      await expect(client.call({ name: 'unknown_tool' })).rejects.toMatchObject(unknown);
      expect(server.errors).toEqual(['tool_not_found']);
      await expect(client.request('no/such', {})).rejects.toThrow('Method not found');
    }),
  );

  verifies('mcp.progress', name, () =>
    withClient(async (client) => {
      const reported: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => reported.push(progress);
      const result = await client.call({ name: 'slow', arguments: { ms: 200, progress: true } }, { onprogress });
      expect(result.content).toEqual(text('done'));
      expect(reported.length).toBeGreaterThan(1);
      expect(reported).toEqual([...reported].sort((left, right) => left - right));
    }),
  );

  verifies('mcp.cancels', name, () =>
    withClient(async (client) => {
      path.worker.probe.aborted.length = 0;
      const cancel = new AbortController();
      const call = client.call({ name: 'slow', arguments: { ms: 60_000 } }, { signal: cancel.signal });
      const failed = expect(call).rejects.toThrow();
      await expect.poll(() => path.worker.probe.running, { timeout: 10_000 }).toBe(1);
      cancel.abort();
      await failed;
      await expect.poll(() => path.worker.probe.aborted.length, { timeout: 10_000 }).toBe(1);
      expect((await client.call({ name: 'echo', arguments: { text: 'on' } })).isError).toBeFalsy();
    }),
  );

  verifies('mcp.list-changed', name, async () => {
    let reported = 0;
    const client = await connect(url, () => void reported++);
    const prefix = `late_${name.replaceAll(/\W/g, '_')}`;
    let registered = 0;
    const addTool = () => {
      path.worker.server.register({
        name: `${prefix}_${++registered}`,
        place: 'this test',
        options: { description: 'Came later.', input: z.object({}) },
        handler: () => 'late',
      });
    };
    try {
      // Nothing signals that the client's stream is open. Earlier notifications are lost, but the next one arrives.
      await vi.waitFor(
        () => {
          addTool();
          expect(reported).toBeGreaterThan(0);
        },
        { timeout: 20_000, interval: 200 },
      );
      expect((await client.listTools()).map((tool) => tool.name)).toContain(`${prefix}_1`);
    } finally {
      await client.close();
    }
  });
}

verifies(
  'mcp.progress',
  'the 1.x client, HTTP+SSE, that reads late: progress and result come in one chunk',
  async () => {
    const client = await lateSseClient(url, 300);
    try {
      const reported: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => void reported.push(progress);
      const slow = { name: 'slow', arguments: { ms: 100, progress: true } };
      expect((await client.callTool(slow, undefined, { onprogress })).content).toEqual(text('done'));
      expect(reported.length).toBeGreaterThan(0);
    } finally {
      await client.close();
    }
  },
);

verifies('mcp.workspaces', 'a session each, one named, one a principal', () =>
  withClients(
    url,
    ['the 1.x client', 'the 2.x client, as before 2026', 'the 2.x client, 2026-07-28'],
    async (one, other, modern) => {
      const workspaceOf = async (client: McpCaller, _meta: object = {}) => {
        const { content } = await client.call({ name: 'echo', arguments: { text: 'x' }, _meta });
        return (content as { text: string }[])[0]!.text.split(':')[0];
      };
      expect(one.sessionId).not.toBe(other.sessionId);
      expect(await workspaceOf(one)).toBe(one.sessionId);
      expect(await workspaceOf(other)).toBe(other.sessionId);
      expect(await workspaceOf(modern)).toBe('mcp_default');
      for (const client of [one, modern]) {
        expect(await workspaceOf(client, { 'signalbox/session_id': 'sess_named' })).toBe('sess_named');
        await expect(workspaceOf(client, { 'signalbox/session_id': '../x' })).rejects.toMatchObject({
          code: -32_602,
          data: { code: 'invalid_value' },
        });
      }
    },
  ),
);

verifies('mcp.stdio', 'a client that has asked and closed its side is answered', async () => {
  const input = `${JSON.stringify(rpc('initialize', greeting))}\n`;
  const { code, stdout } = await runProgram(process.execPath, [bridge, `${url}/mcp`], { input });
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { id: 1, result: { serverInfo: { name: 'signalbox' } } }]);
});

verifies('mcp.stdio', 'both eras; a session that the gateway has forgotten; a gateway that is away', async () => {
  for (const mode of ['auto', 'legacy'] as const) {
    const client = await stdioClient(`${url}/mcp`, mode);
    try {
      expect((await client.listTools()).tools.map((tool) => tool.name)).toContain('echo');
      const echo = () => client.callTool({ name: 'echo', arguments: { text: mode } });
      const first = await echo();
      expect(first.content).toEqual([{ type: 'text', text: expect.stringMatching(`^sess_\\w+: ${mode}$`) }]);
      const reported: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => void reported.push(progress);
      await client.callTool({ name: 'slow', arguments: { ms: 150, progress: true } }, { onprogress });
      expect(reported.length).toBeGreaterThan(0);
      await expect(client.callTool({ name: 'none' })).rejects.toMatchObject({ data: { code: 'tool_not_found' } });
      if (mode === 'legacy') {
        for (const session of server.sessions) await rawRequest(url, { ...endOf(session) });
        expect((await echo()).content).toEqual(first.content);
      }
    } finally {
      await client.close();
    }
  }
  await expect(stdioClient('http://127.0.0.1:1/mcp', 'legacy')).rejects.toThrow(
    'The gateway cannot be reached at http://127.0.0.1:1: ',
  );
});

verifies('mcp.plain-json', 'no Accept, any, JSON only, with a session', async () => {
  const call = rpc('tools/call', {
    name: 'slow',
    arguments: { ms: 100, progress: true },
    _meta: { progressToken: 'p1' },
  });
  for (const accept of [null, '*/*', 'application/json']) {
    const answer = await post(call, { accept });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, expect.stringContaining('application/json')]);
    expect(JSON.parse(answer.text)).toMatchObject({ id: 1, result: { content: text('done') } });
  }
  const described = await post(rpc('tools/describe', { name: 'echo' }, 2));
  expect(JSON.parse(described.text)).toMatchObject({ id: 2, result: { tool: { name: 'echo' } } });
  const opened = await post(rpc('initialize', greeting));
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  expect(JSON.parse(opened.text)).toMatchObject({ result: { serverInfo: { name: 'signalbox' } } });
  expect((await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)).status).toBe(202);
  expect(JSON.parse((await post(rpc('ping', {}, 3), session)).text)).toEqual({ jsonrpc: '2.0', id: 3, result: {} });
  expect((await rawRequest(url, endOf(session['mcp-session-id']))).status).toBe(200);
  const ended = await post(rpc('ping', {}, 4), session);
  expect([ended.status, JSON.parse(ended.text)]).toMatchObject([
    404,
    { id: 4, error: { data: { code: 'session_not_found' } } },
  ]);
});

verifies('mcp.cancels', 'a client that goes away in the middle', async () => {
  path.worker.probe.aborted.length = 0;
  const gone = new AbortController();
  const asked = fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(rpc('tools/call', { name: 'slow', arguments: { ms: 60_000 } })),
    signal: gone.signal,
  }).catch(() => 'gone');
  await expect.poll(() => path.worker.probe.running, { timeout: 10_000 }).toBe(1);
  gone.abort();
  expect(await asked).toBe('gone');
  await expect.poll(() => path.worker.probe.aborted.length, { timeout: 10_000 }).toBe(1);
});

verifies('mcp.guarded', 'Host, Origin, content type', async () => {
  const cases: [RawRequest['headers'], number, string][] = [
    [{ host: 'evil.example' }, 403, 'host_forbidden'],
    [{ origin: 'https://evil.example' }, 403, 'origin_forbidden'],
    [{ 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
  ];
  for (const [headers, status, code] of cases) {
    const answer = await post(rpc('tools/list'), headers);
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      status,
      { jsonrpc: '2.0', error: { code: -32_600, data: { code } } },
    ]);
  }
});

// From here on this server has no open streams.
verifies('mcp.stops', 'a stream that waits, one that comes late, a call under way, one cancelled', async () => {
  await withClients(url, ['the 2.x client, as before 2026'], async (client) => {
    const call = client.call({ name: 'slow', arguments: { ms: 300 } });
    await expect.poll(() => path.worker.probe.running, { timeout: 10_000 }).toBe(1);
    const opened = await post(rpc('initialize', greeting));
    const listen = { headers: { 'mcp-session-id': String(opened.headers['mcp-session-id']) } };
    const stream = await fetch(`${url}/mcp`, listen);
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    server.app.get(McpController).stopWaiting();
    expect(await stream.text()).toMatch(/^(: keep-alive\n\n)+$/);
    const late = await fetch(`${url}/mcp`, listen);
    expect([late.status, await late.json()]).toMatchObject([503, { error: { data: { code: 'shutting_down' } } }]);
    expect((await call).content).toEqual(text('done'));
    const cancel = new AbortController();
    const cancelled = client.call({ name: 'slow', arguments: { ms: 60_000 } }, { signal: cancel.signal });
    const failed = expect(cancelled).rejects.toThrow();
    await expect.poll(() => path.worker.probe.running, { timeout: 10_000 }).toBe(1);
    cancel.abort();
    await failed;
    // The request has ended even though the client keeps it open, so a shutdown waits for nothing.
    await server.app.get(TurnAdmission).drain(60_000);
  });
});

verifies('mcp.failures', 'no worker: an error with a time to come back', async () => {
  await path.worker.close();
  await expect.poll(() => path.gateway.runner.hasWorker(), { timeout: 20_000 }).toBe(false);
  const open = await openMcpServer(path.services, path.gateway);
  try {
    const body = JSON.stringify(rpc('tools/call', { name: 'echo', arguments: { text: 'x' } }));
    const answer = await rawRequest(open.url, { path: '/mcp', body });
    expect(JSON.parse(answer.text)).toMatchObject({
      error: { code: -32_603, data: { code: 'no_worker', type: 'overloaded_error', retry_after: 2 } },
    });
    expect(open.errors).toEqual(['no_worker']);
  } finally {
    await open.close();
  }
});
