// Named sets of tools by every door: MCP endpoints, chats, responses, messages, the tools API and keys; with a rename, a denial and an
// approval in between. The processes are real; the model follows a script.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { eventually } from '../support/eventually.js';
import { mcpClients, withClients } from '../support/mcp-clients.js';
import { type OfferingServer, startOfferingServer } from '../support/offering-server.js';
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-upstream.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-toolsets-'));
const file = join(directory, 'signalbox.yaml');
const patient = { timeout: 20_000, interval: 50 };
const clerk = [
  'workspace/read_file',
  'workspace/write_*',
  '!workspace/read_result',
  { tool: 'workspace/get_time', name: 'what_time', description: '现在几点？' },
  { tool: 'workspace/delete_file', name: 'drop' },
  { tool: 'workspace/move_file', name: 'list_directory' },
];
const shownToClerk = ['list_directory', 'read_file', 'what_time', 'write_file'];
const rules = [
  { name: 'no-deletions', tool: 'workspace/delete_file', effect: 'deny', reason: 'Nothing is deleted' },
  { name: 'asked', tool: 'workspace/move_file', effect: 'require_approval' },
];
let library: OfferingServer;
let box: Signalbox;

/** The user's text is the name of the tool and its arguments. */
function script({ body }: ReceivedRequest): ScriptedAnswer {
  const messages = body['messages'] as unknown as { role: string; content: string }[];
  if (messages.at(-1)!.role === 'tool') return { text: ['Done.'] };
  const [name = '', args = '{}'] = messages.findLast(({ role }) => role === 'user')!.content.split(/ (.*)/s);
  return { toolCalls: [{ id: 'upstream_1', name, arguments: JSON.parse(args) as JsonObject }] };
}

function configure(toolsets: object): void {
  const mcpServers = { workspace: { builtin: 'workspace' }, library: { url: library.url } };
  writeFileSync(`${file}~`, JSON.stringify({ mcpServers, toolsets, policy: { default: 'allow', rules } }));
  renameSync(`${file}~`, file);
}

beforeAll(async () => {
  library = await startOfferingServer({ instructions: 'Cite the library.' });
  configure({ clerk, librarian: ['library/*'], nobody: ['gone/*'] });
  box = await startSignalbox({ script, environment: { SIGNALBOX_CONFIG: file } });
  await eventually(async () => (await listed('librarian')).length > 0, 20_000);
}, 60_000);
afterAll(async () => {
  await box?.close();
  await library?.close();
  rmSync(directory, { recursive: true });
});

interface Shown {
  function: { name: string; description: string };
  server: string;
  toolsets?: string[];
}
async function listed(toolset?: string): Promise<Shown[]> {
  const answer = await fetch(`${box.url}/api/tools${toolset === undefined ? '' : `?toolset=${toolset}`}`);
  return ((await answer.json()) as { data: Shown[] }).data;
}
const namesOf = (tools: readonly { name: string }[]) => tools.map(({ name }) => name).sort();
const offeredNow = () =>
  namesOf((box.upstream.requests.at(-1)!.body['tools'] as unknown as Shown[]).map((tool) => tool.function));
const lastAudit = async () =>
  (
    await box.rows<{ name: string; server: string; tool: string; state: string; policy_rule: string | null }>(
      "select name, server, tool, state, policy_rule from audit_events where kind = 'tool_call' order by id desc limit 1",
    )
  )[0];
const rpc = async (path: string, method: string, params: object, headers: Record<string, string> = {}) => {
  const answer = await fetch(box.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const body = (await answer.json()) as {
    result?: { tools?: { name: string }[]; isError?: boolean; _meta?: Record<string, unknown> };
    error?: { code: number; data?: { code: string } };
  };
  return { status: answer.status, ...body };
};

for (const name of (Object.keys(mcpClients) as (keyof typeof mcpClients)[]).filter((each) => !each.endsWith('SSE'))) {
  verifies('toolsets.mcp', name, () =>
    withClients(`${box.url}/mcp/clerk`, [name], async (client) => {
      const tools = await client.listTools();
      expect(namesOf(tools)).toEqual(shownToClerk);
      expect(tools.find((tool) => tool.name === 'what_time')).toMatchObject({ description: '现在几点？' });
      const described = await client.request('tools/describe', { name: 'what_time' });
      expect(described).toMatchObject({ tool: { name: 'what_time', description: '现在几点？' } });
      const answered = await client.call({ name: 'what_time', arguments: { offset_ms: 0 } });
      expect(answered.structuredContent).toHaveProperty('timestamp');
      expect(await lastAudit()).toMatchObject({ name: 'get_time', server: 'workspace', tool: 'get_time' });
      // What the catalog calls by a name that the set gives to another tool, and what is not in the set at all.
      for (const outside of ['get_time', 'search_files', 'workspace__get_time', 'none'])
        await expect(client.call({ name: outside, arguments: {} })).rejects.toMatchObject({ code: -32_602 });
      await expect(client.request('tools/describe', { name: 'get_time' })).rejects.toMatchObject({ code: -32_602 });
    }),
  );
}

verifies('toolsets.mcp', 'a set is searched, and only its tools are found and called', () =>
  withClients(`${box.url}/mcp/clerk?mode=search`, ['the 2.x client, 2026-07-28'], async (client) => {
    expect(namesOf(await client.listTools())).toEqual(['call_tool', 'describe_tool', 'find_tools']);
    const found = await client.call({
      name: 'find_tools',
      arguments: { query: '现在几点 write delete file', limit: 20 },
    });
    const { tools } = found.structuredContent as { tools: { name: string }[] };
    expect(namesOf(tools)).toEqual(expect.arrayContaining(['what_time', 'write_file']));
    for (const { name } of tools) expect(shownToClerk).toContain(name);
    const asked = (name: string) => client.call({ name: 'call_tool', arguments: { name, arguments: {} } });
    expect((await asked('what_time')).structuredContent).toHaveProperty('timestamp');
    expect(await lastAudit()).toMatchObject({ name: 'get_time', server: 'workspace', tool: 'get_time' });
    await expect(asked('get_time')).rejects.toMatchObject({ code: -32_602 });
  }),
);

verifies('toolsets.offers', 'only those of servers in the set', () =>
  withClients(`${box.url}/mcp/librarian`, ['the 2.x client, 2026-07-28', 'the 1.x client'], async (modern, old) => {
    for (const client of [modern, old]) {
      expect(await client.request('resources/read', { uri: 'doc://readme' })).toHaveProperty('contents');
      const { prompts } = await client.request('prompts/list', {});
      expect(prompts).not.toEqual([]);
    }
    await withClients(`${box.url}/mcp/clerk`, ['the 2.x client, 2026-07-28', 'the 1.x client'], async (...clerks) => {
      for (const client of clerks) {
        expect(await client.request('resources/list', {})).toMatchObject({ resources: [] });
        expect(await client.request('prompts/list', {})).toMatchObject({ prompts: [] });
        await expect(client.request('resources/read', { uri: 'doc://readme' })).rejects.toThrow();
      }
    });
  }),
);

verifies('toolsets.mcp-apart', 'sessions, unknown sets', async () => {
  await withClients(`${box.url}/mcp/clerk`, ['the 1.x client'], async (client) => {
    const session = { 'mcp-session-id': client.sessionId!, accept: 'application/json, text/event-stream' };
    for (const path of ['/mcp', '/mcp/librarian']) {
      const { status, error } = await rpc(path, 'tools/list', {}, session);
      expect([path, status, error?.data?.code]).toEqual([path, 404, 'session_not_found']);
    }
    expect(namesOf(await client.listTools())).toEqual(shownToClerk);
  });
  for (const path of ['/mcp/none', '/mcp/workspace', '/mcp/__proto__', `/mcp/${encodeURIComponent('审查')}`]) {
    const { status, error } = await rpc(path, 'tools/list', {});
    expect([path, status, error?.data?.code]).toEqual([path, 404, 'not_found']);
  }
  expect((await fetch(`${box.url}/mcp/none`, { headers: { accept: 'text/event-stream' } })).status).toBe(404);
  expect(await rpc('/mcp/nobody', 'tools/list', {})).toMatchObject({ result: { tools: [] } });
});

verifies('toolsets.real-tool', 'denied by its own name, whatever the set calls it', async () => {
  const denied = await rpc('/mcp/clerk', 'tools/call', { name: 'drop', arguments: { path: 'a' } });
  expect(denied.result).toMatchObject({ isError: true, _meta: { 'signalbox/error_code': 'tool_denied' } });
  const audited = { name: 'delete_file', tool: 'delete_file', state: 'denied', policy_rule: 'no-deletions' };
  expect(await lastAudit()).toMatchObject(audited);
  const waiting = await rpc('/mcp/clerk', 'tools/call', {
    name: 'list_directory',
    arguments: { source: 'a', destination: 'b' },
  });
  expect(waiting.result).toMatchObject({ isError: true, _meta: { 'signalbox/error_code': 'approval_required' } });
  const { data } = (await (await fetch(`${box.url}/api/approvals?state=waiting`)).json()) as {
    data: { id: string; tool: string }[];
  };
  expect(data.map(({ tool }) => tool)).toEqual(['move_file']);
});

const openai = (apiKey = 'none') => new OpenAI({ baseURL: `${box.url}/v1`, apiKey, maxRetries: 0 });
const set = { type: 'mcp', server_label: 'clerk' };
const asks = (content: string) => ({ model: 'scripted/model', messages: [{ role: 'user' as const, content }] });

verifies('toolsets.chats', 'OpenAI chats: the names of the set, allowed and chosen', async () => {
  const chat = (tools: object[], more: object = {}) =>
    openai().chat.completions.create({ ...asks('what_time {"offset_ms":0}'), tools: tools as never, ...more });
  const { choices } = await chat([set]);
  expect(choices[0]!.message.content).toContain('Done.');
  expect(offeredNow()).toEqual(shownToClerk);
  expect(await lastAudit()).toMatchObject({ name: 'get_time', server: 'workspace', state: 'completed' });
  await chat([{ ...set, allowed_tools: ['what_time'] }]);
  expect(offeredNow()).toEqual(['what_time']);
  await expect(chat([{ ...set, allowed_tools: ['drop'] }])).rejects.toMatchObject({ status: 400 });
  await expect(chat([{ type: 'mcp', server_label: 'none' }])).rejects.toMatchObject({ status: 400 });
  const choice = { type: 'function', function: { name: 'what_time' } };
  await chat([set], { tool_choice: choice });
  expect(box.upstream.requests.at(-2)!.body['tool_choice']).toEqual(choice);
});

verifies('toolsets.chats', 'responses and messages', async () => {
  const tools = [{ ...set, require_approval: 'never' }] as never;
  const response = await openai().responses.create({
    model: 'scripted/model',
    input: 'what_time {"offset_ms":0}',
    tools,
    tool_choice: { type: 'mcp', server_label: 'clerk', name: 'what_time' },
  });
  const [list, call] = response.output as unknown as { type: string; name: string; tools: { name: string }[] }[];
  expect(namesOf(list!.tools)).toEqual(shownToClerk);
  expect([call!.type, call!.name, response.output_text]).toEqual(['mcp_call', 'what_time', 'Done.']);
  const anthropic = new Anthropic({ baseURL: box.url, apiKey: 'none', maxRetries: 0 });
  await anthropic.beta.messages.create({
    model: 'scripted/model',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'what_time {"offset_ms":0}' }],
    tools: [{ type: 'mcp_toolset', mcp_server_name: 'clerk' }],
  });
  expect(offeredNow()).toEqual(shownToClerk);
});

verifies('toolsets.real-tool', 'approved after the set has changed: what was planned runs', async () => {
  const client = openai();
  const tools = [set] as never;
  const { url } = box;
  const write = { name: 'write_file', arguments: { path: 'a.txt', content: '甲' }, session_id: 'sess_moved' };
  const written = await fetch(`${url}/api/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(write),
  });
  expect(written.status).toBe(200);
  const first = { ...asks('list_directory {"source":"a.txt","destination":"b.txt"}'), session_id: 'sess_moved', tools };
  const asked = await client.chat.completions.create(first);
  const [call] = asked.choices[0]!.message.tool_calls!;
  expect(call).toMatchObject({ function: { name: 'approval_request' } });
  configure({ clerk: ['workspace/move_file'], librarian: ['library/*'], nobody: ['gone/*'] });
  await expect
    .poll(async () => namesOf((await listed('clerk')).map((tool) => tool.function)), patient)
    .toEqual(['move_file']);
  const decided = { role: 'tool' as const, tool_call_id: call!.id, content: '{"decision":"approve"}' };
  const messages = [...first.messages, asked.choices[0]!.message, decided];
  const answered = await client.chat.completions.create({ ...first, messages });
  expect(answered.choices[0]!.message.content).toContain('Done.');
  expect(await lastAudit()).toMatchObject({ name: 'move_file', tool: 'move_file', state: 'completed' });
  configure({ clerk, librarian: ['library/*'], nobody: ['gone/*'] });
});

verifies('toolsets.reload', 'a client that listens is told; the new set is there, the old one gone', async () => {
  let told = 0;
  const client = await mcpClients['the 1.x client'](`${box.url}/mcp/clerk`, () => (told += 1));
  try {
    configure({ clerk: ['workspace/read_file'], fresh: ['workspace/*'], librarian: ['library/*'] });
    await expect.poll(() => told, patient).toBeGreaterThan(0);
    expect(namesOf(await client.listTools())).toEqual(['read_file']);
    expect((await rpc('/mcp/nobody', 'tools/list', {})).status).toBe(404);
    expect((await rpc('/mcp/fresh', 'tools/list', {})).result!.tools!.length).toBeGreaterThan(5);
  } finally {
    await client.close();
  }
  configure({ clerk: ['delete_file'] });
  const [gateway] = box.gateways;
  await gateway!.logged((line) => JSON.stringify(line).includes('a tool is written server/tool'));
  expect((await rpc('/mcp/fresh', 'tools/list', {})).status).toBe(200);
  configure({ clerk, librarian: ['library/*'], nobody: ['gone/*'] });
  await expect.poll(async () => (await rpc('/mcp/nobody', 'tools/list', {})).status, patient).toBe(200);
  const isUnmatched = (line: object) => /entries of toolsets match no tool/.test(JSON.stringify(line));
  expect(JSON.stringify(await gateway!.logged(isUnmatched))).toContain('"nobody":["gone/*"]');
});

verifies('toolsets.listed', 'the sets of a tool, and the tools of a set', async () => {
  const all = await listed();
  expect(all.find((tool) => tool.function.name === 'get_time')?.toolsets).toEqual(['clerk']);
  expect(all.find((tool) => tool.function.name === 'search_files')).not.toHaveProperty('toolsets');
  const time = (await listed('clerk')).find((tool) => tool.function.name === 'what_time');
  expect(time).toMatchObject({ function: { description: '现在几点？' }, server: 'workspace', toolsets: ['clerk'] });
  for (const wrong of ['none', '', 'clerk&toolset=librarian'])
    expect((await fetch(`${box.url}/api/tools?toolset=${wrong}`)).status).toBe(400);
});

// Last, because from then on every request needs a key.
verifies('toolsets.keys', 'two principals, one limited to a set, by every door', async () => {
  const make = async (owner: string, more: object, admin?: string) => {
    const answer = await fetch(`${box.url}/api/keys`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(admin && { authorization: `Bearer ${admin}` }) },
      body: JSON.stringify({ owner, ...more }),
    });
    return ((await answer.json()) as { key: string }).key;
  };
  const admin = await make('root', { scopes: ['admin', 'chat', 'tools'] });
  const alice = await make('alice', { scopes: ['chat', 'tools'], tools: { allow: ['@clerk'] } }, admin);
  const bob = await make('bob', { scopes: ['chat', 'tools'], tools: { deny: ['@clerk'] } }, admin);
  const names = async (key: string, path = '/mcp') =>
    namesOf((await rpc(path, 'tools/list', {}, { authorization: `Bearer ${key}` })).result!.tools!);
  // By their own names at the endpoint of everything, by those of the set at its own.
  expect(await names(alice)).toEqual(['get_time', 'move_file', 'read_file', 'write_file']);
  expect(await names(alice, '/mcp/clerk')).toEqual(shownToClerk);
  expect(await names(alice, '/mcp/librarian')).toEqual([]);
  expect(await names(bob, '/mcp/clerk')).toEqual([]);
  expect(await names(bob)).toContain('search_files');
  const call = async (key: string, name: string) => {
    const answer = await fetch(`${box.url}/api/tools/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ name, arguments: { offset_ms: 0 } }),
    });
    return answer.status;
  };
  expect([await call(alice, 'get_time'), await call(bob, 'get_time')]).toEqual([200, 403]);
  expect(await call(alice, 'search_files')).toBe(403);
  const forbidden = await rpc('/mcp/clerk', 'tools/call', { name: 'what_time' }, { authorization: `Bearer ${bob}` });
  expect(forbidden.error?.data?.code).toBe('tool_forbidden');
  const every = { ...asks('what_time {}'), tools: [{ type: 'mcp', server_label: '*' }] as never };
  await openai(alice).chat.completions.create(every);
  expect(offeredNow()).toEqual(['get_time', 'move_file', 'read_file', 'write_file']);
  configure({ clerk: ['workspace/search_files'], librarian: ['library/*'] });
  await expect.poll(() => names(alice), patient).toEqual(['search_files']);
  expect(await names(bob)).not.toContain('search_files');
  configure({ librarian: ['library/*'] });
  // A set that is gone allows nothing, and denies everything.
  await expect.poll(() => names(alice), patient).toEqual([]);
  expect(await names(bob)).toEqual([]);
});
