// Tokens of an OIDC issuer instead of keys: every route, roles in the policy, one principal with a key and a token.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { JWTPayload } from 'jose';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Scope } from '#libs/schemas/call-context.js';
import { type StartedProcess, startProcess } from '../support/services/start-process.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { askEveryRoute } from '../support/every-route.js';
import { audience, startTokenIssuer, type TokenIssuer } from '../support/token-issuer.js';
import { metricOf } from '../support/tools-client.js';
import { toolScript } from '../support/tool-script.js';
import { verifies } from '../verifies.js';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-tokens-'));
let box: Signalbox;
let issuer: TokenIssuer;
let gateway: StartedProcess;
let settings: Record<string, string>;

const token = (claims: JWTPayload = {}) => issuer.token({ claims });
const ask = async (path: string, bearer?: string, init: RequestInit = {}) => {
  const headers = {
    ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
  };
  const answer = await fetch(gateway.url + path, { ...init, headers });
  const text = await answer.text();
  const body = (text.startsWith('{') ? JSON.parse(text) : { text }) as {
    error?: { code?: string; message?: string };
    key: string;
    text?: string;
    data: { function: { name: string } }[];
  };
  return { status: answer.status, body, headers: answer.headers };
};
const post = (path: string, bearer: string, body: unknown) =>
  ask(path, bearer, { method: 'POST', body: JSON.stringify(body) });

beforeAll(async () => {
  issuer = await startTokenIssuer();
  const rules = [{ name: 'readers', role: 'reader', tool: '*/write_*', effect: 'deny', reason: 'Readers only read' }];
  writeFileSync(join(directory, 'signalbox.yaml'), JSON.stringify({ policy: { rules } }));
  box = await startSignalbox({
    script: toolScript,
    environment: { SIGNALBOX_CONFIG: join(directory, 'signalbox.yaml') },
  });
  settings = {
    AUTH_JWT_ISSUER: issuer.url,
    AUTH_JWT_AUDIENCE: audience,
    AUTH_JWT_ROLES_CLAIM: 'realm_access.roles',
    AUTH_JWT_ADMIN_ROLE: 'ops',
    AUTH_JWT_ADMIN_SCOPE: 'signalbox:admin',
    METRICS_TOKEN: 'token-of-the-operator',
    LIMITS_FAILED_SIGN_INS_PER_MINUTE: '1000',
  };
  gateway = await box.startGateway(settings);
});
afterAll(async () => {
  await box?.close();
  await issuer?.stop();
  rmSync(directory, { recursive: true, force: true });
});

verifies('access.every-route', 'each one without, with a wrong and with a too small token', async () => {
  const names = { chat: 'chat', tools: 'tools', files: 'files', admin: 'signalbox:admin' };
  const only = {} as Record<Scope, string>;
  for (const scope of ['chat', 'tools', 'files', 'admin'] as const) only[scope] = await token({ scope: names[scope] });
  const wrong = [
    await token({ aud: 'another' }),
    await token({ iss: 'https://other.example' }),
    await token({ exp: 1_000_000_000 }),
    await token({ nbf: 4_000_000_000 }),
    issuer.unsignedToken(),
    await issuer.confusedToken(),
  ];
  for (const each of wrong) {
    const { status, body, headers } = await ask('/v1/models', each);
    expect([status, body.error?.code, headers.get('www-authenticate')]).toEqual([401, 'invalid_api_key', 'Bearer']);
    expect(JSON.stringify(body)).not.toContain(each);
  }
  await askEveryRoute(gateway.url, { wrong: wrong[0]!, only });
  const rows = await box.rows<{ state: string; principal: string }>(
    `select distinct state, principal from audit_events where kind = 'sign_in_failed' order by 1, 2`,
  );
  expect(rows).toEqual([
    { state: 'token_audience', principal: 'alice' },
    { state: 'token_expired', principal: 'alice' },
    { state: 'token_invalid', principal: '' },
    { state: 'token_issuer', principal: 'alice' },
    { state: 'token_not_yet_valid', principal: 'alice' },
  ]);
});

verifies('access.token-person', 'a key of the owner alice and a token about alice', async () => {
  const ops = await token({ sub: 'root', realm_access: { roles: ['ops'] } });
  const made = await post('/api/keys', ops, { owner: 'alice', scopes: ['tools', 'files'] });
  expect(made.status).toBe(201);
  const call = { name: 'write_file', arguments: { path: 'mine.txt', content: 'A' }, session_id: 'same' };
  expect((await post('/api/tools/call', made.body.key, call)).status).toBe(200);
  const file = '/api/sessions/same/files/mine.txt';
  expect((await ask(file, await token())).body.text).toBe('A');
  expect((await ask(file, await token({ sub: 'bob' }))).status).toBe(404);
  expect((await post('/api/tools/call', await token({ sub: 'auth0|7' }), call)).status).toBe(200);
  const rows = await box.rows(`select principal, key_id is null as token from audit_events where tool = 'write_file'`);
  expect(rows).toEqual([
    { principal: 'alice', token: false },
    { principal: 'auth0|7', token: true },
  ]);
  expect((await post('/api/keys', await token(), { owner: 'x', scopes: ['admin'] })).status).toBe(403);
});

verifies('access.roles', 'a rule of the policy for a role of the token', async () => {
  const reader = await token({ sub: 'erin', realm_access: { roles: ['reader'] } });
  const names = async (bearer: string) => (await ask('/api/tools', bearer)).body.data.map((tool) => tool.function.name);
  expect(await names(reader)).toContain('read_file');
  expect(await names(reader)).not.toContain('write_file');
  const refused = await post('/api/tools/call', reader, { name: 'write_file', arguments: { path: 'a', content: '' } });
  expect([refused.status, refused.body.error?.code]).toEqual([422, 'tool_denied']);
  const [row] = await box.rows(`select policy_rule, success from audit_events where principal = 'erin'`);
  expect(row).toEqual({ policy_rule: 'readers', success: false });
  expect(await names(await token({ sub: 'erin' }))).toContain('write_file');
});

test('with the clients that people use', async () => {
  const bearer = await token();
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: bearer, maxRetries: 0 });
  const chat = { model: 'scripted/model', messages: [{ role: 'user' as const, content: 'Hello' }] };
  expect((await openai.chat.completions.create(chat)).choices).toHaveLength(1);
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${bearer}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('write_file');
  await client.close();
});

test('outside loopback: an issuer is as good as keys', async () => {
  const environment = { ...settings, DATABASE_URL: box.databaseUrl, HOST: '0.0.0.0' };
  const outside = await startProcess('gateway', { environment });
  expect((await fetch(outside.url.replace('0.0.0.0', '127.0.0.1') + '/v1/models')).status).toBe(401);
  outside.kill('SIGKILL');
  await outside.ended;
});

verifies('access.issuer-away', 'a gateway that knows its keys, and one that does not', async () => {
  const known = await token({ sub: 'known' });
  expect((await ask('/v1/models', known)).status).toBe(200);
  const unknownKey = await issuer.token({ header: { kid: 'next' } });
  await issuer.stop();
  expect((await ask('/v1/models', known)).status).toBe(200);
  const late = await box.startGateway(settings);
  await late.logged((line) => String(line['message']).includes('OIDC issuer'));
  const readAt = (url: string) => metricOf(url, 'signalbox_issuer_keys_read_timestamp_seconds');
  expect(await readAt(late.url)).toBe(0);
  expect(await readAt(gateway.url)).toBeGreaterThan(Date.now() / 1_000 - 3_600);
  const answer = await fetch(`${late.url}/v1/models`, { headers: { authorization: `Bearer ${known}` } });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
  expect(await answer.json()).toMatchObject({ error: { code: 'issuer_unavailable' } });
  await vi.waitFor(async () => expect((await ask('/v1/models', unknownKey)).status).toBe(503), {
    timeout: 15_000,
    interval: 500,
  });
});
