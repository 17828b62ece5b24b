// Widely used servers, over each transport and in both eras of the protocol.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
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
/** The operator's directories, of this process's user. */
let named: string;

/** Its hooks lie outside its own package, and import a file beside them. */
const hookedServer = {
  'hooks/word.mjs': "export const word = 'hooked';",
  'hooks/register.mjs': "globalThis.word = (await import('./word.mjs')).word;",
  'server/server.mjs': `
    import { createInterface } from 'node:readline';
    const answers = {
      initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }),
      'tools/call': () => ({ content: [{ type: 'text', text: globalThis.word }] }),
    };
    for await (const line of createInterface({ input: process.stdin })) {
      const { id, method, params } = JSON.parse(line);
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method]?.(params) ?? {} }));
    }`,
};
let serving: HttpServing;

beforeAll(async () => {
  serving = await serveOverHttp(own, { logger: silentLogger });
  address = await startHttp('old-sdk');
  const newAddress = await startHttp('new-sdk');
  named = await realpath(await mkdtemp(join(tmpdir(), 'named-')));
  await mkdir(join(named, 'notes'));
  await mkdir(join(named, 'closed'), { mode: 0o700 });
  await writeFile(join(named, 'notes/a.txt'), 'of the operator');
  for (const [file, text] of Object.entries(hookedServer)) {
    await mkdir(join(named, dirname(file)), { recursive: true });
    await writeFile(join(named, file), text);
  }
  servers = await openToolServers(
    {
      // As the READMEs of these servers say it for Claude Desktop, with directories of this machine.
      namedFiles: npx('server-filesystem', join(named, 'notes'), join(named, 'closed')),
      relativeFiles: npx('server-filesystem', './notes'),
      narrowed: { ...npx('server-filesystem', './notes'), paths: { read: ['./notes'] } },
      namedMemory: { ...npx('server-memory'), env: { MEMORY_FILE_PATH: join(named, 'closed/memory.jsonl') } },
      hooked: { command: 'node', args: ['--import', './hooks/register.mjs', './server/server.mjs'] },
      wholeHome: npx('server-filesystem', homedir()),
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
    },
    { configDirectory: named },
  );
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
  await rm(named, { recursive: true, force: true });
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
      const changed = new Promise<void>((resolve) => connection.onListChanged(resolve));
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
      message: 'The tool sent a request that is not supported here (elicitation/create)',
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

verifies(
  'tools.named-paths',
  'directories of the arguments, absolute and relative: read, written, and nothing else',
  async () => {
    const call = (server: string, tool: string, args: object) => servers.call(server, tool, { args });
    const textOf = async (server: string, tool: string, args: object) =>
      JSON.stringify((await call(server, tool, args)).content);
    expect(await textOf('namedFiles', 'list_allowed_directories', {})).toContain(`${named}/notes\\n${named}/closed`);
    for (const [server, directory] of [
      ['namedFiles', 'notes'],
      ['namedFiles', 'closed'],
      ['relativeFiles', 'notes'],
    ] as const) {
      const path = join(named, directory, `${server}.txt`);
      expect(await textOf(server, 'write_file', { path, content: 'of a model' })).toContain('Successfully wrote');
      expect(await readFile(path, 'utf8')).toBe('of a model');
    }
    expect(await textOf('relativeFiles', 'read_text_file', { path: join(named, 'notes/a.txt') })).toContain(
      'of the operator',
    );
    const outside = await call('namedFiles', 'read_text_file', { path: join(named, 'hooks/word.mjs') });
    expect(outside.isError).toBe(true);
  },
);

verifies('tools.named-paths', '`paths` narrows what the arguments name', async () => {
  const path = join(named, 'notes/a.txt');
  const read = await servers.call('narrowed', 'read_text_file', { args: { path } });
  expect(JSON.stringify(read.content)).toContain('of the operator');
  const written = await servers.call('narrowed', 'write_file', { args: { path, content: 'x' } });
  expect(written).toMatchObject({ isError: true });
  expect(await readFile(path, 'utf8')).toBe('of the operator');
});

verifies('tools.named-paths', 'a file that a variable names is made, and replaced, in its directory', async () => {
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
  await servers.call('namedMemory', 'create_entities', { args: { entities }, session: 'sess_one' });
  await servers.call('namedMemory', 'add_observations', {
    args: { observations: [{ entityName: 'Ada', contents: ['writes'] }] },
    session: 'sess_two',
  });
  expect(await readFile(join(named, 'closed/memory.jsonl'), 'utf8')).toContain('"counts","writes"');
});

verifies('tools.named-paths', 'files that Node imports before the server', async () => {
  expect((await servers.call('hooked', 'said')).content).toEqual([{ type: 'text', text: 'hooked' }]);
});

verifies('tools.named-paths', 'told at the start; a whole home directory is refused', async () => {
  const { configured, log } = servers;
  expect(configured.servers.find(({ name }) => name === 'namedFiles')?.paths).toEqual({
    read: [],
    write: [join(named, 'notes'), join(named, 'closed')],
  });
  const reported = log.filter(({ message }) => message.startsWith('this tool server may use the files'));
  expect(reported.map(({ fields }) => fields.metadata)).toContainEqual({ read: [join(named, 'notes')], write: [] });
  expect(configured.refused.find(({ name }) => name === 'wholeHome')?.reason).toContain('all files of a user');
});

verifies('tools.known-servers', 'everything and memory', async () => {
  const sum = await servers.call('everything', 'get-sum', { args: { a: 40, b: 2 } });
  expect(JSON.stringify(sum.content)).toContain('42');
  // A server whose arguments name no directory is told of the workspace.
  const roots = await servers.call('everything', 'get-roots-list', { session: 'sess_r' });
  expect(JSON.stringify(roots.content)).toContain('file:///mcp_workspaces/sess_r');
  const { content } = await servers.call('everything', 'get-tiny-image');
  expect(content).toContainEqual(expect.objectContaining({ type: 'image', mimeType: 'image/png' }));
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
  await servers.call('memory', 'create_entities', { args: { entities }, session: 'sess_m' });
  const mine = await servers.call('memory', 'read_graph', { session: 'sess_m' });
  const others = await servers.call('memory', 'read_graph', { session: 'sess_n' });
  expect([JSON.stringify(mine), JSON.stringify(others)].map((graph) => graph.includes('Ada'))).toEqual([true, false]);
});

verifies('tools.tasks-ask', 'the research of everything', async () => {
  const onQuestion = async () => ({ action: 'accept' as const, content: { interpretation: 'technical' } });
  const args = { topic: 'python', ambiguous: true };
  const { content } = await servers.call('everything', 'simulate-research-query', { args, options: { onQuestion } });
  expect(JSON.stringify(content)).toContain('**Clarification**: technical');
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
