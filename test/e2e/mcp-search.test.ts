// `mode=search` of the MCP endpoint: three tools that find, describe and call all others, for the official clients of both eras.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { z } from 'zod';
import { askedClients, type Asked } from '../support/asking-clients.js';
import { addressOf, type CallResult, mcpClients, stdioClient, withClients } from '../support/mcp-clients.js';
import { type OpenMcpServer, openMcpServer } from '../support/open-mcp-server.js';
import { queuePathOfFile } from '../support/queue-path.js';
import { rawRequest } from '../support/raw-request.js';
import { verifies } from '../verifies.js';

const rules = [
  { name: 'effects', tool: 'workspace/append', effect: 'require_approval', reason: 'Has an effect' },
  { name: 'secrets', tool: 'workspace/open_vault', effect: 'deny', reason: 'Nobody opens it' },
];
const path = queuePathOfFile({}, JSON.stringify({ policy: { rules } }));
const fixed = ['find_tools', 'describe_tool', 'call_tool'];
let server: OpenMcpServer;
let url: string;

function register(name: string, description: string): void {
  const options = { description, input: z.object({ text: z.string().default('') }) };
  path.worker.server.register({ name, place: 'this test', options, handler: () => `${name} ran` });
}

beforeAll(async () => {
  register('open_vault', 'Opens the vault of the bank.');
  register('list_vaults', 'Lists the vaults of the bank.');
  register('find_tools', 'A tool of a server, with the name of one of the three.');
  register('chimech/读取', 'Reads the ledger of the bank.');
  server = await openMcpServer(path.services, path.gateway);
  url = `${server.url}?mode=search`;
  await vi.waitUntil(() => path.gateway.catalog.find('chimech/读取') !== undefined, { timeout: 15_000 });
});
afterAll(() => server?.close());

const textOf = ({ content }: CallResult) => (content as { text: string }[])[0]!.text;
const codeOf = ({ _meta }: CallResult) => _meta?.['signalbox/error_code'];
const calling = (name: string, args?: unknown) => ({ name: 'call_tool', arguments: { name, arguments: args } });
const notFound = (name: string) => ({ code: -32_602, data: { code: 'tool_not_found', tool_name: name } });

interface Found {
  tools: { name: string; description: string; inputSchema: object }[];
}

for (const name of Object.keys(mcpClients) as (keyof typeof mcpClients)[]) {
  verifies('mcp.search', `${name}: lists three tools, finds, describes and calls`, () =>
    withClients(url, [name], async (client) => {
      expect((await client.listTools()).map((tool) => tool.name)).toEqual(fixed);
      const find = async (query: string, limit?: number) => {
        const result = await client.call({ name: 'find_tools', arguments: { query, ...(limit && { limit }) } });
        const found = result.structuredContent as Found;
        expect(JSON.parse(textOf(result))).toEqual(found);
        return found.tools;
      };
      const [echo] = await find('say it again', 1);
      expect(echo).toEqual({
        name: 'echo',
        description: 'Says it again.',
        inputSchema: expect.objectContaining({ type: 'object', required: ['text'] }),
      });
      expect(await find('ledger of the bank', 2)).toHaveLength(2);
      expect(await find('zzzz')).toEqual([]);
      const described = await client.call({ name: 'describe_tool', arguments: { name: 'echo' } });
      const { tool } = await client.request('tools/describe', { name: 'echo' });
      expect(described.structuredContent).toEqual({ tool });
      const result = await client.call(calling('echo', { text: '你好' }));
      expect(textOf(result)).toMatch(/: 你好$/);
      const [row] = await path.services.rows(
        'select name, server, tool, arguments from audit_events where call_id = $1',
        [result._meta!['signalbox/call_id']],
      );
      expect(row).toEqual({ name: 'echo', server: 'workspace', tool: 'echo', arguments: '{"text":"你好"}' });
    }),
  );

  verifies('mcp.search', `${name}: progress and cancelling of the tool that is called`, () =>
    withClients(url, [name], async (client) => {
      const reported: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => void reported.push(progress);
      expect(textOf(await client.call(calling('slow', { ms: 150, progress: true }), { onprogress }))).toBe('done');
      expect(reported.length).toBeGreaterThan(0);
      path.worker.probe.aborted.length = 0;
      const cancel = new AbortController();
      const failed = expect(client.call(calling('slow', { ms: 60_000 }), { signal: cancel.signal })).rejects.toThrow();
      await expect.poll(() => path.worker.probe.running, { timeout: 10_000 }).toBe(1);
      cancel.abort();
      await failed;
      await expect.poll(() => path.worker.probe.aborted.length, { timeout: 10_000 }).toBe(1);
    }),
  );

  verifies('tools.search-governed', `/mcp?mode=search, ${name}: a call that is audited`, () =>
    withClients(url, [name], async (client) => {
      const rowOf = async (id: unknown) =>
        path.services.rows(
          `select kind, name, server, state, success, principal, arguments, error_code from audit_events where call_id = $1`,
          [id],
        );
      const row = { kind: 'tool_call', server: '', state: 'completed', success: true, principal: 'local' };
      const found = await client.call({ name: 'find_tools', arguments: { query: 'say it again', limit: 1 } });
      expect(await rowOf(found._meta?.['signalbox/call_id'])).toEqual([
        { ...row, name: 'find_tools', arguments: '{"query":"say it again","limit":1}', error_code: null },
      ]);
      const described = await client.call({ name: 'describe_tool', arguments: { name: 'echo' } });
      expect(await rowOf(described._meta?.['signalbox/call_id'])).toEqual([
        { ...row, name: 'describe_tool', arguments: '{"name":"echo"}', error_code: null },
      ]);
      const refused = async () =>
        path.services.rows<{ name: string; error_code: string }>(
          `select name, error_code from audit_events where server = '' and state = 'failed' order by at`,
        );
      const before = (await refused()).length;
      await client.call({ name: 'find_tools', arguments: {} });
      await client.call({ name: 'describe_tool', arguments: { name: 'none' } }).catch(() => undefined);
      expect((await refused()).slice(before)).toEqual([
        { name: 'find_tools', error_code: 'invalid_tool_arguments' },
        { name: 'describe_tool', error_code: 'tool_not_found' },
      ]);
    }),
  );

  verifies('mcp.search-refused', name, () =>
    withClients(url, [name], async (client) => {
      const failed = async (tool: string, args: object) => {
        const result = await client.call({ name: tool, arguments: args });
        expect(result.isError).toBe(true);
        return [codeOf(result), textOf(result)];
      };
      for (const unknown of ['none', 'call_tool', 'describe_tool']) {
        await expect(client.call(calling(unknown, {}))).rejects.toMatchObject(notFound(unknown));
        const describing = client.call({ name: 'describe_tool', arguments: { name: unknown } });
        await expect(describing).rejects.toMatchObject(notFound(unknown));
      }
      const found = await client.call({ name: 'find_tools', arguments: { query: 'open the vault of the bank' } });
      const names = (found.structuredContent as Found).tools.map((tool) => tool.name);
      expect(names).toContain('list_vaults');
      expect(names).not.toContain('open_vault');
      const describing = client.call({ name: 'describe_tool', arguments: { name: 'open_vault' } });
      await expect(describing).rejects.toMatchObject(notFound('open_vault'));
      const denied = await client.call(calling('open_vault', {}));
      const direct = await client.call({ name: 'open_vault', arguments: {} });
      expect([codeOf(denied), textOf(denied)]).toEqual([codeOf(direct), textOf(direct)]);
      expect(codeOf(denied)).toBe('tool_denied');
      const bad = 'invalid_tool_arguments';
      expect(await failed('find_tools', {})).toMatchObject([bad, expect.stringContaining('query')]);
      expect(await failed('find_tools', { query: 5 })).toMatchObject([bad, expect.stringContaining('query')]);
      expect(await failed('find_tools', { query: 'x', limit: 51 })).toMatchObject([
        bad,
        expect.stringContaining('limit'),
      ]);
      expect(await failed('describe_tool', {})).toMatchObject([bad, expect.stringContaining('name')]);
      expect(await failed('call_tool', { arguments: {} })).toMatchObject([bad, expect.stringContaining('name')]);
      expect(await failed('call_tool', { name: 'echo', arguments: 'no' })).toMatchObject([bad, expect.any(String)]);
      expect(await failed('call_tool', { name: 'echo', arguments: { text: 5 } })).toMatchObject([
        bad,
        expect.any(String),
      ]);
    }),
  );
}

for (const [name, connect] of Object.entries(askedClients)) {
  verifies('mcp.search', `${name}: a call that needs an approval asks for that of its tool`, async () => {
    const asked: Asked[] = [];
    const client = await connect(url, (question) => {
      asked.push(question);
      return { action: 'accept', content: { decision: 'approve' } };
    });
    try {
      const result = await client.call(calling('append', { text: name }));
      expect([textOf(result), path.worker.probe.effects.filter((each) => each === name)]).toEqual(['appended', [name]]);
    } finally {
      await client.close();
    }
    expect(asked).toHaveLength(1);
    expect(asked[0]!.message).toContain("Allow the call of 'append'?\nThe rule 'effects' asks: Has an effect");
  });
}

verifies('mcp.search', 'names of the three in the catalog, mapped names, own names, and arguments as text', () =>
  withClients(url, ['the 2.x client, 2026-07-28', 'the 1.x client'], async (modern, old) => {
    for (const client of [modern, old]) {
      expect(textOf(await client.call(calling('find_tools', {})))).toBe('find_tools ran');
      expect(textOf(await client.call({ name: 'list_vaults', arguments: {} }))).toBe('list_vaults ran');
      expect(textOf(await client.call(calling('list_vaults', null)))).toBe('list_vaults ran');
      expect(textOf(await client.call(calling('echo', '{"text": "as text"}')))).toMatch(/: as text$/);
      const found = await client.call({ name: 'find_tools', arguments: { query: 'read the ledger', limit: 1 } });
      const [tool] = (found.structuredContent as Found).tools;
      expect(tool!.name).toMatch(/^chimech_[\w-]+$/);
      for (const each of [tool!.name, 'chimech/读取']) {
        expect(textOf(await client.call(calling(each, {})))).toBe('chimech/读取 ran');
      }
    }
  }),
);

verifies('mcp.search', 'no client is told of changes of the catalog; others on the endpoint are', async () => {
  for (const mode of ['auto', 'legacy'] as const) {
    const changes: string[] = [];
    const open = async (address: string) => {
      const client = new Client({ name: 'listens', version: '1' }, { versionNegotiation: { mode } });
      client.setNotificationHandler('notifications/tools/list_changed', () => void changes.push(address));
      await client.connect(new StreamableHTTPClientTransport(addressOf(address, '/mcp')));
      if (mode === 'auto') await client.listen({ toolsListChanged: true });
      return client;
    };
    const clients = [await open(url), await open(server.url)];
    try {
      expect(clients.map((client) => client.getServerCapabilities()?.tools)).toEqual([{}, { listChanged: true }]);
      let added = 0;
      await vi.waitFor(
        () => {
          register(`later_${mode}_${++added}`, 'Came later.');
          expect(changes).toContain(server.url);
        },
        { timeout: 20_000, interval: 200 },
      );
      // Clients are told in the order in which they came: the first would know by now.
      expect((await clients[0]!.listTools()).tools.map((tool) => tool.name)).toEqual(fixed);
      expect(changes).not.toContain(url);
    } finally {
      await Promise.all(clients.map((client) => client.close()));
    }
  }
});

verifies('mcp.search', 'through the bridge, and without a client', async () => {
  for (const mode of ['auto', 'legacy'] as const) {
    const client = await stdioClient(addressOf(url, '/mcp').href, mode);
    try {
      expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(fixed);
      expect(textOf(await client.callTool(calling('echo', { text: mode })))).toMatch(
        new RegExp(`^sess_\\w+: ${mode}$`),
      );
    } finally {
      await client.close();
    }
  }
  const ask = async (query: string, method: string, params: object = {}) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const { status, text } = await rawRequest(server.url, { path: `/mcp${query}`, body });
    return [status, JSON.parse(text)] as [number, { result: { tools: { name: string }[] } }];
  };
  const [, { result }] = await ask('?mode=search', 'tools/list');
  expect(result.tools.map((tool) => tool.name)).toEqual(fixed);
  expect(JSON.stringify(result).length / 4).toBeLessThan(400);
  expect(await ask('?mode=search', 'tools/call', calling('echo', { text: 'curl' }))).toMatchObject([
    200,
    { result: {} },
  ]);
  for (const query of ['?mode=other', '?mode=', '?mode=search&mode=search']) {
    expect(await ask(query, 'tools/list')).toMatchObject([
      400,
      { error: { data: { code: 'invalid_value', param: 'mode' } } },
    ]);
  }
  expect(await ask('?mode=search', 'tools/list', { cursor: '/../' })).toMatchObject([
    200,
    { error: { code: -32_602 } },
  ]);
});
