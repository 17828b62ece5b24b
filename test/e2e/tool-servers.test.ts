// Tool servers started by a command or reached at an address, through gateway, queue and worker.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { isAlive } from '#libs/process/process-identity.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { mcpClients, withClients } from '../support/mcp-clients.js';
import { messagesOf, post, rounds } from '../support/scripts.js';
import { fixture } from '../support/tool-servers.js';
import { callTool, metricOf, offeredTools } from '../support/tools-client.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let http: ChildProcessWithoutNullStreams;
let database: pg.Client;

const call = (name: string, args: object, session = 'sess_e2e') =>
  callTool(box.url, { name, arguments: args, session_id: session });
const offered = () => offeredTools(box.url);
const metric = (series: string) => metricOf(box.workers.at(-1)!.url, series);

/** Metrics that could not be collected in time are missing from a scrape. */
const processes = async () => {
  let count = NaN;
  await expect.poll(async () => (count = await metric('signalbox_mcp_processes')), long).not.toBeNaN();
  return count;
};

const long = { timeout: 25_000, interval: 100 };

beforeAll(async () => {
  http = spawn(process.execPath, [fixture('old-sdk'), '--http']);
  const [port] = (await once(http.stdout, 'data')) as [Buffer];
  const hostile = { command: 'node', args: [fixture('hostile'), '--ignore-term'] };
  const servers = {
    files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '${WORKSPACE}'] },
    rough: {
      ...hostile,
      tools: { include: ['crash', 'echo', 'family', 'vanished', 'where'], rename: { echo: 'say' } },
    },
    polite: {
      command: 'node',
      args: [fixture('hostile')],
      tools: { include: ['where'], rename: { where: 'polite' } },
    },
    brief: {
      command: 'node',
      args: [fixture('hostile')],
      idle_ttl_ms: 500,
      tools: { include: ['echo'], rename: { echo: 'brief' } },
    },
    warm: {
      command: 'node',
      args: [fixture('hostile'), '${WORKSPACE}'],
      standbys: 1,
      tools: { include: ['where'], rename: { where: 'warm' } },
    },
    common: { ...hostile, scope: 'shared', tools: { exclude: ['hang'] } },
    web: { url: `http://127.0.0.1:${port.toString().trim()}/mcp` },
    modern: { command: 'node', args: [fixture('new-sdk')], tools: { rename: { add: 'add_modern' } } },
    // Refused, because it could read the workspaces of all sessions.
    unsafe: { command: 'node', args: [fixture('hostile')], paths: { read: ['/'] } },
    // An address where nothing listens.
    away: { url: 'http://127.0.0.1:9/mcp' },
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
  expect([...tools.values()].filter(({ server }) => server === 'rough')).toHaveLength(5);
  expect(tools.has('hang')).toBe(false);
  expect([...tools.values()].some(({ server }) => server === 'unsafe')).toBe(false);
  expect(await metric('signalbox_mcp_servers{state="ready"}')).toBe(9);
  expect(await metric('signalbox_mcp_servers{state="refused"}')).toBe(1);
  expect(await metric('signalbox_isolation_level{server="files"}')).toBe(2);
  const ready = (await (await fetch(`${box.workers[0]!.url}/health/ready`)).json()) as object;
  expect(JSON.stringify(ready)).toContain('unsafe (refused)');
});

verifies('tools.servers-reported', 'health says which, /api/servers why, to the operator only', async () => {
  const health = async () => (await fetch(`${box.url}/health/ready`)).text();
  const degraded =
    '"name":"servers","status":"degraded","reason":"not ready: away (unavailable), unsafe (refused)","details":{"count":11}';
  await expect.poll(health, long).toContain(degraded);
  type Told = { servers: { name: string; reason?: string }[] };
  const { servers } = (await (await fetch(`${box.url}/api/servers`)).json()) as Told;
  const named = (name: string) => servers.find((server) => server.name === name);
  expect(named('unsafe')).toMatchObject({ state: 'refused', tools: 0, workers: [{ state: 'refused' }] });
  expect(named('unsafe')?.reason).toContain('could read data of Signalbox: /');
  expect(named('away')?.reason).toContain('(ECONNREFUSED)');
  expect(named('files')).toMatchObject({ state: 'ready', isolation: 'confined' });
  expect(named('workspace')).toMatchObject({ state: 'ready', isolation: 'builtin' });
  const stranger = { headers: { 'x-forwarded-for': '192.0.2.1' } };
  expect((await fetch(`${box.url}/api/servers`, stranger)).status).toBe(403);
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
  expect(rows.map(({ isolation }) => isolation)).toEqual(['confined', 'remote', 'confined', 'builtin']);
  const where = await call('where', {});
  expect(JSON.stringify(where.body)).not.toContain(box.workspacesDir);
  expect(JSON.stringify(where.body)).not.toContain(box.databaseUrl);
});

verifies('tools.hostile-servers', 'through the gateway: more values than are read, and it is counted', async () => {
  expect(await call('dense', { unit: '0' })).toMatchObject({ body: { error: { code: 'result_too_large' } } });
  expect(await metric('signalbox_mcp_bounds_total{server="common",bound="message_values"}')).toBe(1);
});

for (const name of Object.keys(mcpClients) as (keyof typeof mcpClients)[]) {
  verifies('mcp.pairings', `${name}, servers on SDK 1.x and 2.x`, () =>
    withClients(box.url, [name], async (client) => {
      const listed = (await client.listTools()).map((tool) => tool.name);
      expect(listed).toEqual(expect.arrayContaining(['add', 'add_modern']));
      for (const tool of ['add', 'add_modern']) {
        const reported: number[] = [];
        const onprogress = ({ progress }: { progress: number }) => void reported.push(progress);
        const result = await client.call({ name: tool, arguments: { a: 2, b: 3 } }, { onprogress });
        expect([tool, result.content]).toEqual([tool, [{ type: 'text', text: '5' }]]);
        expect([tool, result.structuredContent, reported]).toEqual([tool, { sum: 5 }, [1, 2]]);
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

verifies('tools.changes-held', 'of a server that now serves another definition, until it is accepted', async () => {
  const changes = `${box.url}/api/tools/changes`;
  const list = async () => (await (await fetch(changes)).json()) as { changes: Record<string, unknown>[] };
  const decide = (decision: string, ...these: object[]) => {
    const body = JSON.stringify({ decision, changes: these });
    return fetch(changes, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  };
  expect(await list()).toEqual({ changes: [], has_more: false });
  const echo = { description: 'echo, and tell it', inputSchema: { type: 'object', required: ['secret'] } };
  await call('changeTools', { echo });
  await expect.poll(async () => (await offered()).has('flood'), long).toBe(false);
  const held = (await list()).changes;
  expect(held).toMatchObject([
    { id: 'common/brandNew', change: 'new', state: 'pending', approved: null },
    {
      id: 'common/echo',
      change: 'contract',
      approved: { definition: { description: 'echo' } },
      held: { definition: echo },
    },
  ]);
  expect(await call('brandNew', {})).toMatchObject({ status: 404, body: { error: { code: 'tool_not_found' } } });
  // Arguments are validated against the approved schema, although the server has changed it.
  expect(await call('echo', { text: 'as before' })).toMatchObject({ status: 200, body: { content: 'as before' } });
  expect(await metric('signalbox_tool_changes_total{grade="contract",outcome="held"}')).toBe(1);
  expect(await metricOf(box.url, 'signalbox_tool_changes_held')).toBe(2);

  const [{ hash }] = held.slice(1) as [{ hash: string }];
  const change = { server: 'common', tool: 'echo', hash };
  const missing = await decide('accept', change, { ...change, tool: 'brandNew' });
  expect([missing.status, await missing.json()]).toMatchObject([
    404,
    { error: { code: 'tool_change_not_found', param: 'changes[1]' } },
  ]);
  for (const [body, param] of [
    [{ ...change, hash: 'x' }, 'changes[0].hash'],
    [{ server: 'common', hash }, 'changes[0].tool'],
  ] as const) {
    const wrong = await decide('accept', body);
    expect([wrong.status, await wrong.json()]).toMatchObject([400, { error: { code: 'invalid_value', param } }]);
  }
  const decided = await decide('accept', change);
  expect([decided.status, await decided.json()]).toEqual([
    200,
    { decided: [{ kind: 'tool', server: 'common', tool: 'echo', change: 'contract' }] },
  ]);
  const soon = { timeout: withinMs(1_000), interval: 20 };
  await expect
    .poll(async () => (await call('echo', { text: 'x' })).body.error?.code, soon)
    .toBe('invalid_tool_arguments');
  expect((await call('echo', { text: 'now', secret: 1 })).body.content).toBe('now');
  expect((await list()).changes.map(({ id }) => id)).toEqual(['common/brandNew']);
  const audit = await database.query<{ tool: string; state: string }>(
    "select tool, state from audit_events where kind = 'definition_change' and tool in ('echo', 'brandNew') order by tool, id",
  );
  expect(audit.rows).toEqual([
    { tool: 'brandNew', state: 'held' },
    { tool: 'echo', state: 'held' },
    { tool: 'echo', state: 'accepted' },
  ]);
});

verifies('tools.pool-standbys', 'through the queue: the directory that it was born in is the session’s', async () => {
  const outcomes = () =>
    Promise.all(
      ['adopted', 'connected'].map((each) => metric(`signalbox_mcp_connects_total{server="warm",outcome="${each}"}`)),
    );
  await expect.poll(() => metric('signalbox_mcp_instances{server="warm",state="standby"}'), long).toBe(1);
  const first = await call('warm', {}, 'sess_warm');
  expect(first.body.structured_content).toMatchObject({
    args: [expect.any(String), expect.any(String), '/mcp_workspaces/sess_warm'],
  });
  expect((await call('write_file', { path: 'x.txt', content: 'x' }, 'sess_warm')).status).toBe(200);
  expect(await outcomes()).toEqual([1, NaN]);
  // A session that already has a directory starts one there.
  await call('write_file', { path: 'x.txt', content: 'x' }, 'sess_cold');
  await expect.poll(() => metric('signalbox_mcp_instances{server="warm",state="standby"}'), long).toBe(1);
  const second = await call('warm', {}, 'sess_cold');
  expect(second.body.structured_content).toMatchObject({
    args: [expect.any(String), expect.any(String), '/mcp_workspaces/sess_cold'],
  });
  expect(await outcomes()).toEqual([1, 1]);
});

verifies('tools.nothing-left-alive', 'thirty sessions leave no instance, process or descriptor', async () => {
  const [worker] = box.workers;
  const states = ['connecting', 'busy', 'idle', 'closing'];
  const open = () =>
    Promise.all(states.map((state) => metric(`signalbox_mcp_instances{server="brief",state="${state}"}`)));
  const sessions = async (name: string, count: number) => {
    for (let from = 0; from < count; from += 5) {
      const said = await Promise.all(
        Array.from({ length: 5 }, (_each, at) => call('brief', { text: 'x' }, `${name}_${from + at}`)),
      );
      expect(said.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    }
    await expect.poll(open, long).toEqual([0, 0, 0, 0]);
  };
  /** A scrape itself opens some while it reads /proc. */
  const descriptors = async () => {
    const looks: number[] = [];
    for (let look = 0; look < 10; look += 1) {
      looks.push((await readdir(`/proc/${worker!.pid}/fd`)).length);
      await delay(50);
    }
    return Math.min(...looks);
  };
  await sessions('sess_before', 5);
  const before = { processes: await processes(), descriptors: await descriptors() };
  await sessions('sess_soak', 30);
  expect(await processes()).toBe(before.processes);
  // The number of database connections varies; each leaked instance would have left three.
  expect(await descriptors()).toBeLessThan(before.descriptors + 15);
  expect(await metric('signalbox_mcp_connects_total{server="brief",outcome="connected"}')).toBe(35);
  expect(await metric('signalbox_mcp_instances_closed_total{server="brief",reason="idle"}')).toBe(35);
});

verifies('tools.nothing-left-alive', 'a worker that is killed, a worker that stops', async () => {
  // The third process has cleared its environment and left its session and its parents.
  const family = async () => {
    const said = [await call('family', {}), await call('vanished', {})];
    return said.flatMap(({ body }) => body.content!.split(' ').map(Number));
  };
  const left = await family();
  const polite = Number((await call('polite', {})).body.structured_content?.['pid']);
  expect([...left, polite].map(isAlive)).toEqual([true, true, true, true]);
  expect(await processes()).toBeGreaterThanOrEqual(5);
  const [first] = box.workers;
  first!.kill('SIGKILL');
  await first!.ended;
  // Their launchers notice the worker's end by themselves.
  await vi.waitFor(() => expect([...left, polite].map(isAlive)).toEqual([false, false, false, false]), long);
  const next = await box.startWorker();
  await vi.waitFor(async () => expect((await offered()).get('family')?.available).toBe(true), long);
  const again = await family();
  expect(again.map(isAlive)).toEqual([true, true, true]);
  expect(await next.stop()).toBe(0);
  expect(again.map(isAlive)).toEqual([false, false, false]);
});
