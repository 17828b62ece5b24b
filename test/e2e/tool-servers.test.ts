// Tool servers that are started by a command or stand behind an address, through gateway, queue and worker.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { isAlive } from '#libs/process/process-identity.js';
import { type Signalbox, startSignalbox } from '#libs/testing/start-signalbox.js';
import { mcpClients, withClients } from '../support/mcp-clients.js';
import { messagesOf, post, rounds } from '../support/scripts.js';
import { fixture } from '../support/tool-servers.js';
import { callTool, metricOf, offeredTools } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let http: ChildProcessWithoutNullStreams;
let database: pg.Client;

const call = (name: string, args: object, session = 'sess_e2e') =>
  callTool(box.url, { name, arguments: args, session_id: session });
const offered = () => offeredTools(box.url);
const metric = (series: string) => metricOf(box.workers.at(-1)!.url, series);

const long = { timeout: 25_000, interval: 100 };

beforeAll(async () => {
  http = spawn(process.execPath, [fixture('old-sdk'), '--http']);
  const [port] = (await once(http.stdout, 'data')) as [Buffer];
  const hostile = { command: 'node', args: [fixture('hostile'), '--ignore-term'] };
  const isolation = 'process';
  const servers = {
    files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '${WORKSPACE}'], isolation },
    rough: {
      ...hostile,
      isolation,
      tools: { include: ['crash', 'echo', 'family', 'where'], rename: { echo: 'say' } },
    },
    polite: {
      command: 'node',
      args: [fixture('hostile')],
      isolation,
      tools: { include: ['where'], rename: { where: 'polite' } },
    },
    common: { ...hostile, isolation, scope: 'shared', tools: { exclude: ['hang'] } },
    web: { url: `http://127.0.0.1:${port.toString().trim()}/mcp` },
    modern: { command: 'node', args: [fixture('new-sdk')], isolation, tools: { rename: { add: 'add_modern' } } },
    unsafe: { command: 'node', args: [fixture('hostile')] },
  };
  box = await startSignalbox({
    environment: { MCP_SERVERS: JSON.stringify(servers) },
    script: rounds(
      { toolCalls: [{ name: 'files__write_file', arguments: { path: 'from-chat.txt', content: 'by the model' } }] },
      (request) => ({ text: JSON.stringify(messagesOf(request).at(-1)?.['content']) }),
    ),
  });
  database = new pg.Client({ connectionString: box.databaseUrl });
  await database.connect();
  const all = expect.arrayContaining(['files__write_file', 'say', 'add', 'add_modern', 'flood']);
  await vi.waitFor(async () => expect([...(await offered()).keys()]).toEqual(all), long);
});
afterAll(async () => {
  await database?.end();
  await box?.close();
  http?.kill('SIGKILL');
});

verifies('tools.servers-in-catalog', 'included, renamed, excluded, refused', async () => {
  const tools = await offered();
  expect(tools.get('say')).toEqual({ server: 'rough', available: true });
  expect(tools.get('add')).toEqual({ server: 'web', available: true });
  expect([...tools.values()].filter(({ server }) => server === 'rough')).toHaveLength(4);
  expect(tools.has('hang')).toBe(false);
  expect([...tools.values()].some(({ server }) => server === 'unsafe')).toBe(false);
  expect(await metric('signalbox_mcp_servers{state="ready"}')).toBe(7);
  expect(await metric('signalbox_mcp_servers{state="refused"}')).toBe(1);
  const ready = (await (await fetch(`${box.workers[0]!.url}/health/ready`)).json()) as object;
  expect(JSON.stringify(ready)).toContain('unsafe (refused)');
});

verifies('tools.servers-in-catalog', 'called through the queue, audited with what they ran under', async () => {
  const said = await call('say', { text: 'hello' });
  expect(said).toMatchObject({ status: 200, body: { content: 'hello' } });
  const added = await call('add', { a: 1, b: 2 });
  expect(added.body.structured_content).toEqual({ sum: 3 });
  const path = '/mcp_workspaces/sess_e2e/a.txt';
  const written = await call('files__write_file', { path, content: 'x' });
  expect(written.body.content).toBe(`Successfully wrote to ${path}`);
  const own = await call('file_info', { path: 'a.txt' });
  const ids = [said, added, written, own].map(({ body }) => body.id);
  const { rows } = await database.query<{ isolation: string }>(
    'select isolation from audit_events where call_id = any($1) order by array_position($1, call_id)',
    [ids],
  );
  expect(rows.map(({ isolation }) => isolation)).toEqual(['process', 'remote', 'process', 'builtin']);
  const where = await call('where', {});
  expect(JSON.stringify(where.body)).not.toContain(box.workspacesDir);
  expect(JSON.stringify(where.body)).not.toContain(box.databaseUrl);
});

for (const name of Object.keys(mcpClients) as (keyof typeof mcpClients)[]) {
  verifies('mcp.pairings', `${name}, servers on SDK 1.x and 2.x`, () =>
    withClients(box.url, [name], async (client) => {
      const listed = (await client.listTools()).map((tool) => tool.name);
      expect(listed).toEqual(expect.arrayContaining(['add', 'add_modern']));
      for (const tool of ['add', 'add_modern']) {
        const told: number[] = [];
        const onprogress = ({ progress }: { progress: number }) => void told.push(progress);
        const result = await client.call({ name: tool, arguments: { a: 2, b: 3 } }, { onprogress });
        expect([tool, result.content]).toEqual([tool, [{ type: 'text', text: '5' }]]);
        expect([tool, result.structuredContent, told]).toEqual([tool, { sum: 5 }, [1, 2]]);
        const wrong = await client.call({ name: tool, arguments: { a: 'two' } });
        expect([tool, wrong.isError, wrong._meta!['signalbox/error_code']]).toEqual([
          tool,
          true,
          'invalid_tool_arguments',
        ]);
      }
    }),
  );
}

verifies('tools.servers-in-catalog', 'a chat uses one, in the workspace that the builtin tools see', async () => {
  const tools = [{ type: 'mcp', server_label: 'files' }];
  const request = { messages: [{ role: 'user', content: 'write it' }], tools, session_id: 'sess_chat' };
  const { body } = await post(box.url, '/api/chat/completions', request);
  expect(body.choices[0]!.message.content).toContain('Successfully wrote');
  expect((await call('read_file', { path: 'from-chat.txt' }, 'sess_chat')).body.content).toBe('by the model');
});

verifies('tools.crash-noticed', 'of a command server, through the gateway', async () => {
  const crashed = await call('crash', {});
  expect(crashed).toMatchObject({ status: 422, body: { error: { code: 'tool_crashed' } } });
  expect((await call('say', { text: 'again' })).body.content).toBe('again');
});

verifies('tools.catalog-announced', 'a shared command server changes its tools', async () => {
  await call('changeTools', {});
  await expect.poll(async () => (await offered()).has('brandNew'), long).toBe(true);
  expect((await offered()).has('flood')).toBe(false);
});

verifies('tools.nothing-left-alive', 'a worker that is killed, the next start, a worker that stops', async () => {
  const family = async () => (await call('family', {})).body.content!.split(' ').map(Number);
  const left = await family();
  const polite = Number((await call('polite', {})).body.structured_content?.['pid']);
  expect([...left, polite].map(isAlive)).toEqual([true, true, true]);
  expect(await metric('signalbox_mcp_processes')).toBeGreaterThanOrEqual(4);
  const [first] = box.workers;
  first!.kill('SIGKILL');
  await first!.ended;
  // The end of its stdin is enough for this one.
  await vi.waitFor(() => expect(isAlive(polite)).toBe(false), long);
  expect(left.map(isAlive)).toEqual([true, true]);
  const next = await box.startWorker();
  expect(left.map(isAlive)).toEqual([false, false]);
  // Another worker that starts on this machine meanwhile may have been first.
  const said = next.log.some((line) => line['message'] === 'processes that a killed worker left were ended');
  expect((await metric('signalbox_orphans_reaped_total')) >= 2).toBe(said);
  await vi.waitFor(async () => expect((await offered()).get('family')?.available).toBe(true), long);
  const again = await family();
  expect(again.map(isAlive)).toEqual([true, true]);
  expect(await next.stop()).toBe(0);
  expect(again.map(isAlive)).toEqual([false, false]);
});
