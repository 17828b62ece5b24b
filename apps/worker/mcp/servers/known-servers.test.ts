// Widely used servers, over each transport and in both eras of the protocol.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import { silentLogger } from '#libs/logging/logger.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import { McpServer } from '#libs/mcp-server/decorators.js';
import { type HttpServing, serveOverHttp } from '#libs/mcp-server/serve-over-http.js';
import { verifies } from '../../../../test/verifies.js';
import { fixture, openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { countToolProcesses } from '../../sandbox/tool-process.js';

const npx = (name: string, ...args: string[]) => ({
  command: 'npx',
  args: ['-y', `@modelcontextprotocol/${name}`, ...args],
});

@McpServer({ name: 'own' })
class NoTools {}
const own = createMcpServer(new NoTools(), { logger: silentLogger });
const empty = { description: 'Nothing.', input: z.object({}) };
const given = { maxTimeoutMs: 10_000, onProgress: () => undefined };

const http: ChildProcessWithoutNullStreams[] = [];
let address: string;
let servers: ToolServers;
let serving: HttpServing;

beforeAll(async () => {
  serving = await serveOverHttp(own, { logger: silentLogger });
  address = await startHttp('old-sdk');
  const newAddress = await startHttp('new-sdk');
  servers = await openToolServers({
    files: npx('server-filesystem', '${WORKSPACE}'),
    everything: npx('server-everything@latest'),
    memory: { ...npx('server-memory'), env: { MEMORY_FILE_PATH: '${WORKSPACE}/memory.jsonl' } },
    misplaced: { ...npx('server-memory'), env: { MEMORY_FILE_PATH: 'nowhere/memory.jsonl' } },
    old: { command: 'node', args: [fixture('old-sdk')] },
    new: { command: 'node', args: [fixture('new-sdk')] },
    oldHttp: { url: `${address}/mcp` },
    newHttp: { url: `${newAddress}/mcp`, transport: 'http' },
    oldSse: { url: `${address}/sse`, transport: 'sse' },
    foundSse: { url: `${address}/sse` },
    ownHttp: { url: serving.url },
  });
});
/** Resolves with its URL. */
async function startHttp(name: string): Promise<string> {
  const child = spawn(process.execPath, [fixture(name), '--http']);
  http.push(child);
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return `http://127.0.0.1:${port.toString().trim()}`;
}

afterAll(async () => {
  await servers?.close();
  await serving?.close();
  for (const each of http) each.kill('SIGKILL');
});

for (const name of ['old', 'new', 'oldHttp', 'newHttp', 'oldSse', 'foundSse']) {
  verifies('tools.known-servers', `${name}: listing, progress, structured content`, async () => {
    const progress: number[] = [];
    const onProgress = (each: { progress: number }) => void progress.push(each.progress);
    const listed = await servers.use(name, (connection) => connection.listTools(AbortSignal.timeout(20_000)));
    expect(listed).toContainEqual(expect.objectContaining({ name: 'add' }));
    const result = await servers.call(name, 'add', { args: { a: 2, b: 3 }, options: { onProgress } });
    expect(result).toMatchObject({ content: [{ type: 'text', text: '5' }], structuredContent: { sum: 5 } });
    expect(progress).toEqual([1, 2]);
    await expect(servers.call(name, 'add', { args: { a: 'x' } }).then((each) => each.isError)).resolves.toBe(true);
  });
}

test('where the package of a server lies is told to nobody', async () => {
  const entities = [{ name: 'a', entityType: 'b', observations: [] }];
  const { isError, content } = await servers.call('misplaced', 'create_entities', { args: { entities } });
  expect({ isError, text: (content as { text: string }[])[0]!.text }).toEqual({
    isError: true,
    text: expect.stringMatching(/'\/mcp_servers\/misplaced\/@modelcontextprotocol\/server-memory\/dist\/nowhere\//),
  });
  expect(JSON.stringify(content)).not.toContain('node_modules');
});

verifies('tools.known-servers', 'cancelling reaches a tool of the old SDK', async () => {
  const controller = new AbortController();
  const waiting = servers.call('old', 'wait', { options: { signal: controller.signal } });
  setTimeout(() => controller.abort(new Error('enough')), 200);
  await expect(waiting).rejects.toThrow('enough');
  const said = () => servers.log.map(({ fields }) => fields.metadata?.['line']);
  await expect.poll(said, { timeout: 10_000 }).toContain('the wait was cancelled');
});

for (const name of ['old', 'new', 'oldHttp', 'oldSse', 'ownHttp']) {
  verifies('tools.list-changed-heard', name, async () => {
    await servers.use(name, async (connection) => {
      const changed = new Promise<void>((resolve) => connection.onToolsChanged(resolve));
      const signal = AbortSignal.timeout(10_000);
      if (name === 'ownHttp') own.register({ name: 'later', place: 'here', options: empty, handler: () => 'x' });
      else await connection.callTool({ tool: 'grow', arguments: {}, meta: {} }, { ...given, signal });
      await unlessAborted(changed, signal);
      expect(await connection.listTools(signal)).toContainEqual(expect.objectContaining({ name: 'later' }));
    });
  });
}

verifies('tools.questions-refused', 'nobody can be asked for a call: a server of the newer era', async () => {
  for (const server of ['new', 'newHttp']) {
    const asked = servers.call(server, 'ask', { args: { method: 'elicitation/create', times: 1 } });
    await expect(asked, server).rejects.toMatchObject({
      code: 'tool_failed',
      message: 'The tool asked something that nobody here can answer (elicitation/create)',
    });
  }
});

verifies('tools.session-reopened', 'Streamable HTTP, 404 to a session that was', async () => {
  const add = () => servers.call('oldHttp', 'add', { args: { a: 1, b: 1 } });
  await add();
  await (await fetch(`${address}/forget`)).text();
  await expect(add()).resolves.toMatchObject({ structuredContent: { sum: 2 } });
});

verifies('tools.known-servers', 'filesystem: paths as models know them, both ways', async () => {
  const call = (tool: string, args: object, session = 'sess_f') => servers.call('files', tool, { args, session });
  const path = '/mcp_workspaces/sess_f/notes.txt';
  expect(await call('write_file', { path, content: 'hello' })).toMatchObject({
    content: [{ type: 'text', text: `Successfully wrote to ${path}` }],
  });
  const allowed = await call('list_allowed_directories', {});
  expect(allowed.content).toEqual([{ type: 'text', text: 'Allowed directories:\n/mcp_workspaces/sess_f' }]);
  const refused = await call('read_text_file', { path: '/etc/hostname' });
  expect(refused).toMatchObject({ isError: true });
  expect(JSON.stringify(refused)).not.toContain(servers.directory);
  const other = await call('read_text_file', { path }, 'sess_g');
  expect(other).toMatchObject({ isError: true });
});

verifies('tools.known-servers', 'everything and memory', async () => {
  const sum = await servers.call('everything', 'get-sum', { args: { a: 40, b: 2 } });
  expect(JSON.stringify(sum.content)).toContain('42');
  const { content } = await servers.call('everything', 'get-tiny-image');
  expect(content).toContainEqual(expect.objectContaining({ type: 'image', mimeType: 'image/png' }));
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
  await servers.call('memory', 'create_entities', { args: { entities }, session: 'sess_m' });
  const mine = await servers.call('memory', 'read_graph', { session: 'sess_m' });
  const others = await servers.call('memory', 'read_graph', { session: 'sess_n' });
  expect([JSON.stringify(mine), JSON.stringify(others)].map((graph) => graph.includes('Ada'))).toEqual([true, false]);
});

verifies('tools.nothing-left-alive', 'after a hundred sessions', async () => {
  const before = await countToolProcesses();
  const opened = await openToolServers({
    echo: { command: 'node', args: [fixture('hostile')], max_instances: 4 },
  });
  for (let from = 0; from < 100; from += 4) {
    const names = Array.from({ length: 4 }, (_each, at) => `sess_${from + at}`);
    await Promise.all(names.map((session) => opened.call('echo', 'echo', { session })));
  }
  expect(opened.pool.instances).toBe(4);
  await opened.close();
  expect(await countToolProcesses()).toBe(before);
});

test('every server was closed without being killed', async () => {
  await servers.close();
  expect(await countToolProcesses()).toBe(0);
});
