// API keys with widely used clients: wrong, valid, insufficient scope, revoked, rotated; two owners at once.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { startProcess } from '../support/services/start-process.js';
import { askEveryRoute, type Credentials } from '../support/every-route.js';
import { runScript } from '../support/run-program.js';
import { toolScript } from '../support/tool-script.js';
import { verifies } from '../verifies.js';

const wrong = `sb_${'x'.repeat(43)}`;
const directory = mkdtempSync(join(tmpdir(), 'signalbox-keys-'));
let box: Signalbox;
let admin: string;
const keys: Record<string, { id: string; key: string }> = {};

async function command(...args: string[]) {
  const env = { ...process.env, DATABASE_URL: box.databaseUrl };
  const end = await runScript('keys', [...args, '--json'], { env });
  return {
    code: end.code,
    said: end.stderr,
    answer: end.code === 0 ? (JSON.parse(end.stdout) as { id: string; key: string }) : undefined,
  };
}

const ask = async (path: string, key?: string, init: RequestInit = {}) => {
  const headers = {
    ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
  const answer = await fetch(box.url + path, { ...init, headers: { ...headers, ...(init.headers as object) } });
  const text = await answer.text();
  const body = (text.startsWith('{') ? JSON.parse(text) : {}) as {
    error?: { code?: string; message?: string };
    id: string;
    key: string;
    data: { function: { name: string } }[];
  };
  return { status: answer.status, body, headers: answer.headers };
};
const post = (path: string, key: string, body: unknown) =>
  ask(path, key, { method: 'POST', body: JSON.stringify(body) });
const openai = (apiKey: string) => new OpenAI({ baseURL: `${box.url}/v1`, apiKey, maxRetries: 0 });
const chat = (apiKey: string, model = 'scripted/model') =>
  openai(apiKey).chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] });

beforeAll(async () => {
  writeFileSync(
    join(directory, 'signalbox.yaml'),
    JSON.stringify({
      policy: {
        rules: [{ name: 'readers', role: 'reader', tool: '*/write_*', effect: 'deny', reason: 'Readers only read' }],
      },
    }),
  );
  const environment = { SIGNALBOX_CONFIG: join(directory, 'signalbox.yaml') };
  box = await startSignalbox({ script: toolScript, environment });
  expect((await ask('/v1/models')).status).toBe(200);
  admin = (await command('create', '--owner', 'root', '--scopes', 'admin')).answer!.key;
  await vi.waitFor(async () => expect((await ask('/v1/models')).status).toBe(401), 1_000);
  for (const owner of ['alice', 'bob']) {
    const made = await post('/api/keys', admin, { owner, scopes: ['chat', 'tools', 'files'] });
    expect(made.status).toBe(201);
    keys[owner] = made.body;
  }
});
afterAll(async () => {
  await box?.close();
  rmSync(directory, { recursive: true, force: true });
});

verifies('access.every-route', 'each one without, with a wrong and with a too small key', async () => {
  const limited = await startProcess('gateway', {
    environment: {
      DATABASE_URL: box.databaseUrl,
      LIMITS_FAILED_SIGN_INS_PER_MINUTE: '1000',
      METRICS_TOKEN: 'token-of-the-operator',
    },
  });
  const small = {} as Credentials['only'];
  for (const scope of ['chat', 'tools', 'files', 'admin'] as const) {
    small[scope] = (await post('/api/keys', admin, { owner: 'small', scopes: [scope] })).body.key;
  }
  try {
    await askEveryRoute(limited.url, { wrong, only: small });
  } finally {
    limited.kill('SIGKILL');
    await limited.ended;
  }
});

test('refusals in the shape of each client', async () => {
  await expect(chat(wrong)).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' });
  await expect(chat(admin)).rejects.toMatchObject({ status: 403, code: 'insufficient_scope' });
  expect((await chat(keys['alice']!.key)).choices).toHaveLength(1);
  const anthropic = (apiKey: string) => new Anthropic({ baseURL: box.url, apiKey, authToken: null, maxRetries: 0 });
  const message = { model: 'scripted/model', max_tokens: 9, messages: [{ role: 'user' as const, content: 'Hello' }] };
  await expect(anthropic(wrong).messages.create(message)).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
  expect((await anthropic(keys['alice']!.key).messages.create(message)).role).toBe('assistant');
  for (const path of ['/mcp', '/sse']) {
    const { status, headers } = await ask(path);
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  }
});

verifies('access.principals', 'one session name of two owners', async () => {
  const [alice, bob] = [keys['alice']!.key, keys['bob']!.key];
  const write = (key: string, content: string) =>
    post('/api/tools/call', key, { name: 'write_file', arguments: { path: 'mine.txt', content }, session_id: 'same' });
  expect([(await write(alice, 'A')).status, (await write(bob, 'B')).status]).toEqual([200, 200]);
  for (const [key, content] of [
    [alice, 'A'],
    [bob, 'B'],
  ] as const) {
    const answer = await fetch(`${box.url}/api/sessions/same/files/mine.txt`, { headers: { 'x-api-key': key } });
    expect(await answer.text()).toBe(content);
  }
  await post('/api/sessions', alice, { session_id: 'of-alice' });
  expect((await ask('/api/sessions/of-alice', bob)).status).toBe(404);
  const rows = await box.rows(
    `select distinct principal, key_id from audit_events where kind <> 'key_change' and tool = 'write_file' order by 1`,
  );
  expect(rows).toEqual(['alice', 'bob'].map((principal) => ({ principal, key_id: keys[principal]!.id })));
});

verifies('access.principals', 'runs, stored responses and MCP sessions of another owner are not found', async () => {
  const [alice, bob] = [keys['alice']!.key, keys['bob']!.key];
  const turn = await ask('/v1/responses', alice, {
    method: 'POST',
    body: JSON.stringify({ model: 'scripted/model', input: 'Hello' }),
  });
  const response = (turn.body as unknown as { id: string }).id;
  const run = turn.headers.get('x-run-id')!;
  expect((await ask(`/v1/responses/${response}`, alice)).status).toBe(200);
  const rpc = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
  const accept = { accept: 'application/json, text/event-stream' };
  const opened = await ask('/mcp', alice, {
    method: 'POST',
    body: JSON.stringify({ ...rpc, params }),
    headers: accept,
  });
  const session = { ...accept, 'mcp-session-id': opened.headers.get('mcp-session-id')! };
  const ping = { method: 'POST', body: JSON.stringify({ ...rpc, method: 'ping' }), headers: session };
  expect((await ask('/mcp', alice, ping)).status).toBe(200);
  const foreign = [
    await ask(`/v1/responses/${response}`, bob),
    await ask(`/v1/responses/${response}/input_items`, bob),
    await ask(`/v1/responses/${response}/cancel`, bob, { method: 'POST' }),
    await ask(`/v1/responses/${response}`, bob, { method: 'DELETE' }),
    await ask(`/api/runs/${run}`, bob),
    await ask(`/api/runs/${run}/events`, bob),
    await ask(`/api/runs/${run}`, bob, { method: 'DELETE' }),
    await ask('/mcp', bob, ping),
  ];
  expect(foreign.map(({ status }) => status)).toEqual(foreign.map(() => 404));
  const next = { model: 'scripted/model', input: 'More', previous_response_id: response };
  expect((await post('/v1/responses', bob, next)).body.error?.code).toBe('previous_response_not_found');
  expect((await ask(`/v1/responses/${response}`, alice)).status).toBe(200);
});

verifies('access.forbidden-audited', 'what a key does not allow is not listed and is refused', async () => {
  const made = await post('/api/keys', admin, {
    owner: 'carol',
    scopes: ['chat', 'tools'],
    models: ['other/*'],
    tools: { deny: ['*/write_file'] },
  });
  const { key } = made.body;
  for (const model of ['scripted/model', 'default'])
    await expect(chat(key, model)).rejects.toMatchObject({ status: 403, code: 'model_forbidden' });
  expect((await ask('/v1/models', key)).body.data).toEqual([]);
  const names = (await ask('/api/tools', key)).body.data.map((tool) => tool.function.name);
  expect(names).toContain('read_file');
  expect(names).not.toContain('write_file');
  expect((await ask('/api/tools/write_file', key)).status).toBe(404);
  const call = await post('/api/tools/call', key, { name: 'write_file', arguments: { path: 'a', content: '' } });
  expect([call.status, call.body.error?.code]).toEqual([403, 'tool_forbidden']);
  expect(call.body.error?.message).toBe("This key may not use 'write_file'");
  const rows = await box.rows(
    `select server, tool, success, error_code, key_id, arguments from audit_events where principal = 'carol'`,
  );
  const row = { server: 'workspace', tool: 'write_file', success: false, error_code: 'tool_forbidden' };
  expect(rows).toEqual([{ ...row, key_id: made.body.id, arguments: '{"path":"a","content":""}' }]);
});

verifies('mcp.search-refused', 'two keys with different tools find, describe and call their own', async () => {
  const made = (owner: string, tools: object) => post('/api/keys', admin, { owner, scopes: ['tools'], tools });
  const reader = (await made('frank', { allow: ['workspace/read_*'] })).body.key;
  const writer = (await made('grace', { deny: ['workspace/read_*'] })).body.key;
  const call = async (key: string, name: string, args: object) => {
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
    const { body } = await post('/mcp?mode=search', key, rpc);
    return JSON.stringify(body);
  };
  for (const [key, own, other] of [
    [reader, 'read_file', 'write_file'],
    [writer, 'write_file', 'read_file'],
  ] as const) {
    const found = await call(key, 'find_tools', { query: 'read or write a file', limit: 50 });
    expect([found.includes(`"name\\":\\"${own}\\"`), found.includes(other)]).toEqual([true, false]);
    expect(await call(key, 'describe_tool', { name: own })).toContain('inputSchema');
    expect(await call(key, 'describe_tool', { name: other })).toContain('tool_not_found');
    const args = { path: 'search.txt', content: 'x' };
    expect(await call(key, 'call_tool', { name: other, arguments: args })).toContain('tool_forbidden');
  }
  for (const [principal, other] of [
    ['frank', 'write_file'],
    ['grace', 'read_file'],
  ]) {
    const rows = await box.rows(
      `select name, error_code from audit_events where principal = '${principal}' order by name, error_code nulls first`,
    );
    expect(rows).toEqual([
      { name: 'describe_tool', error_code: null },
      { name: 'describe_tool', error_code: 'tool_not_found' },
      { name: 'find_tools', error_code: null },
      { name: other, error_code: 'tool_forbidden' },
    ]);
  }
});

verifies('access.roles', 'a rule of the policy for a role of the key', async () => {
  const { key } = (await post('/api/keys', admin, { owner: 'erin', scopes: ['tools'], roles: ['reader'] })).body;
  const names = (await ask('/api/tools', key)).body.data.map((tool) => tool.function.name);
  expect(names).toContain('read_file');
  expect(names).not.toContain('write_file');
  const refused = await post('/api/tools/call', key, { name: 'write_file', arguments: { path: 'a', content: '' } });
  expect([refused.status, refused.body.error?.code]).toEqual([422, 'tool_denied']);
  const [row] = await box.rows(`select policy_rule, success from audit_events where principal = 'erin'`);
  expect(row).toEqual({ policy_rule: 'readers', success: false });
  const other = (await ask('/api/tools', keys['alice']!.key)).body.data.map((tool) => tool.function.name);
  expect(other).toContain('write_file');
});

verifies('access.manage-keys', 'by the command and by the API', async () => {
  const made = (await command('create', '--owner', 'dave', '--scopes', 'chat', '--name', 'laptop')).answer!;
  expect((await chat(made.key)).choices).toHaveLength(1);
  const rotated = (await command('rotate', made.id, '--grace-s', '60')).answer!;
  expect([(await ask('/v1/models', made.key)).status, (await ask('/v1/models', rotated.key)).status]).toEqual([
    200, 200,
  ]);
  expect((await command('revoke', rotated.id)).code).toBe(0);
  await vi.waitFor(async () => expect((await ask('/v1/models', rotated.key)).status).toBe(401), 1_000);
  expect((await ask(`/api/keys/${made.id}`, admin, { method: 'DELETE' })).status).toBe(200);
  expect((await ask('/v1/models', made.key)).status).toBe(401);
  const again = await ask(`/api/keys/${keys['bob']!.id}/rotate`, admin, { method: 'POST' });
  expect([again.status, (await ask('/v1/models', keys['bob']!.key)).status]).toEqual([201, 401]);
  const listed = JSON.stringify((await ask('/api/keys', admin)).body);
  expect(listed).toContain(rotated.id);
  for (const { key } of [made, rotated]) expect(listed).not.toContain(key.slice(12));
  for (const body of [
    {},
    { owner: 'a b', scopes: ['chat'] },
    { owner: 'a', scopes: ['all'] },
    { owner: 'a', scopes: ['chat'], more: 1 },
  ]) {
    expect((await post('/api/keys', admin, body)).status).toBe(400);
  }
  expect((await command('create', '--owner', 'x', '--scopes', 'all')).code).toBe(2);
});

test('outside loopback: refused without keys, served with them', async () => {
  const environment = { DATABASE_URL: box.databaseUrl, HOST: '0.0.0.0' };
  const gateway = await startProcess('gateway', { environment });
  expect((await fetch(`${box.url}/health/live`)).status).toBe(200);
  gateway.kill('SIGKILL');
  await gateway.ended;
});
