// Exchanged tokens that a tool server refuses: for more scopes, or altogether. By a chat, by `/mcp`, by the API of tools, and at an API;
// and servers that are added while gateways run.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, expect, vi } from 'vitest';
import { type AuthorizationServer, startAuthorizationServer } from '../support/authorization-server.js';
import { messagesOf, post, rounds } from '../support/scripts.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { exchangeGrant } from '../support/token-grants.js';
import { audience, startTokenIssuer, type TokenIssuer } from '../support/token-issuer.js';
import { verifies } from '../verifies.js';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-exchange-again-'));
const file = join(directory, 'signalbox.yaml');
const patient = { timeout: 30_000, interval: 100 };
const clientSecret = 'canary-secret-of-the-client';
const auth = { kind: 'token_exchange', client_id: 'us', client_secret: '${CLIENT_SECRET}', scopes: ['read'] };
let users: TokenIssuer;
let issuer: AuthorizationServer;
let box: Signalbox;
let servers: Record<string, object>;

function configure(more: Record<string, object>): void {
  servers = { ...servers, ...more };
  writeFileSync(`${file}~`, JSON.stringify({ mcpServers: servers }));
  renameSync(`${file}~`, file);
}

beforeAll(async () => {
  users = await startTokenIssuer();
  issuer = await startAuthorizationServer({ users, scopes: { write: 'write' } });
  issuer.clients.set('us', { secret: clientSecret, method: 'client_secret_basic' });
  const operation = (operationId: string) => ({ get: { operationId, responses: {} } });
  const paths = { '/whoami': operation('api_whoami'), '/write': operation('api_write') };
  writeFileSync(
    join(directory, 'api.json'),
    JSON.stringify({ openapi: '3.0.3', info: { title: 'a', version: '1' }, paths }),
  );
  configure({
    crm: { url: issuer.mcpUrl, trusted: true, auth },
    api: { openapi: './api.json', base_url: issuer.mcpUrl, trusted: true, auth },
  });
  box = await startSignalbox({
    gateways: 0,
    workers: 0,
    script: rounds({ toolCalls: [{ id: 'a', name: 'write', arguments: {} }] }, (request) => ({
      text: `It says: ${messagesOf(request).at(-1)!['content'] as string}`,
    })),
    environment: {
      SIGNALBOX_CONFIG: file,
      VAULT_KEY: randomBytes(32).toString('base64'),
      CLIENT_SECRET: clientSecret,
      AUTH_JWT_ISSUER: issuer.url,
      AUTH_JWT_AUDIENCE: audience,
      LIMITS_PRINCIPAL_CALLS: '200',
      LIMITS_SESSION_CALLS: '200',
    },
  });
  await Promise.all([box.startWorker(), box.startGateway(), box.startGateway()]);
  box.url = box.gateways[0]!.url;
  const headers = await headersOf('first');
  await offered(headers, 'write', 'api_write');
}, 120_000);
beforeEach(() => {
  issuer.faults = {};
});
afterAll(async () => {
  await box?.close();
  await issuer?.stop();
  await users?.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function headersOf(sub: string): Promise<{ authorization: string }> {
  const token = await users.token({ claims: { iss: issuer.url, sub } });
  return { authorization: `Bearer ${token}` };
}

async function namesOn(gateway: number, headers: { authorization: string }): Promise<string[]> {
  const answer = await fetch(`${box.gateways[gateway]!.url}/api/tools`, { headers });
  const { data } = (await answer.json()) as { data: { function: { name: string } }[] };
  return data.map((each) => each.function.name);
}

const offered = (headers: { authorization: string }, ...names: string[]) =>
  vi.waitFor(async () => {
    for (const gateway of [0, 1]) expect(await namesOn(gateway, headers)).toEqual(expect.arrayContaining(names));
  }, patient);

async function call(headers: { authorization: string }, name: string, gateway = 0) {
  const { status, body } = await post(box.gateways[gateway]!.url, '/api/tools/call', { name, arguments: {} }, headers);
  return { status, text: JSON.stringify(body) };
}
const exchanges = () => issuer.asked.filter(({ form }) => form.get('grant_type') === exchangeGrant);
const connectionOf = async (headers: { authorization: string }) => {
  const answer = await fetch(`${box.url}/api/connections`, { headers });
  const { data } = (await answer.json()) as { data: Record<string, unknown>[] };
  return data.find(({ server }) => server === 'crm');
};
const waitsOf = (principal: string) =>
  box.rows(`select kind, state from approvals where principal = $1 order by created_at`, [principal]);

verifies(
  'connections.exchanged-again',
  'for a scope that a tool needs: once, by many calls on two gateways',
  async () => {
    const headers = await headersOf('alice');
    expect((await call(headers, 'whoami')).status).toBe(200);
    const before = exchanges().length;
    const said = await Promise.all(Array.from({ length: 40 }, (_, at) => call(headers, 'write', at % 2)));
    for (const { status, text } of said)
      expect([status, text]).toEqual([200, expect.stringContaining('written by alice')]);
    const [again, ...more] = exchanges().slice(before);
    expect([again!.form.get('scope'), more]).toEqual(['read write', []]);
    const connection = await connectionOf(headers);
    expect(connection).toMatchObject({ state: 'connected', scopes: ['read', 'write'] });
    expect(connection).not.toHaveProperty('wanted_scopes');
    expect((await waitsOf('alice')).every((wait) => wait['state'] === 'approved')).toBe(true);
    expect(await box.rows(`select id from tool_calls where principal = 'alice' and state <> 'completed'`)).toEqual([]);
  },
);

verifies(
  'connections.exchanged-again',
  'within a chat, which ends with its answer; streamed and held too',
  async () => {
    for (const [sub, more] of [
      ['bob', {}],
      ['bert', { stream: true, approval: 'hold' }],
    ] as const) {
      const chat = {
        messages: [{ role: 'user', content: 'Write' }],
        tools: [{ type: 'mcp', server_label: 'crm' }],
        ...more,
      };
      const answer = await fetch(`${box.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(await headersOf(sub)) },
        body: JSON.stringify(chat),
      });
      const text = await answer.text();
      expect(text).toContain(`written by ${sub}`);
      expect(text).not.toMatch(/sign_in/);
    }
  },
);

verifies('connections.exchanged-again', 'by /mcp', async () => {
  const client = new Client({ name: 'judge', version: '1' });
  const requestInit = { headers: await headersOf('carol') };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${box.url}/mcp`), { requestInit }));
  try {
    const result = await client.callTool({ name: 'write', arguments: {} });
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'written by carol' }] });
  } finally {
    await client.close();
  }
});

verifies('connections.exchanged-again', 'at an API: for a scope, and for a token that it takes no more', async () => {
  const headers = await headersOf('dora');
  expect((await call(headers, 'api_write')).text).toContain('dora');
  issuer.expireAccess();
  const before = exchanges().length;
  // A 401 names scopes too.
  expect((await call(headers, 'api_whoami')).text).toContain('dora');
  expect(
    exchanges()
      .slice(before)
      .map(({ form }) => form.get('scope')),
  ).toEqual(['read write']);
});

verifies(
  'connections.exchanged-again',
  'a scope that the issuer does not give ends the call, and nothing else',
  async () => {
    const headers = await headersOf('erin');
    issuer.faults = { refusedScope: 'write' };
    const refused = await call(headers, 'write');
    expect(refused.text).toContain('connection_needed');
    expect(refused.text).toContain('refused: invalid_scope');
    expect(await waitsOf('erin')).toEqual([{ kind: 'sign_in', state: 'denied' }]);
    expect((await call(headers, 'whoami')).status).toBe(200);
    expect(await connectionOf(headers)).toMatchObject({ scopes: ['read'], wanted_scopes: ['write'] });
    issuer.faults = {};
    expect((await call(headers, 'write')).status).toBe(200);
  },
);

verifies('connections.exchanged-again', 'a server that takes no token is asked a few times only', async () => {
  const headers = await headersOf('frank');
  issuer.refusesAll = true;
  const before = exchanges().length;
  try {
    expect((await call(headers, 'write')).text).toContain('connection_needed');
    expect(exchanges().length - before).toBeLessThan(6);
  } finally {
    issuer.refusesAll = false;
  }
  expect((await call(headers, 'write')).status).toBe(200);
});

verifies('connections.exchange-reload', 'a server that is added, and one whose scopes change', async () => {
  const headers = await headersOf('grace');
  expect((await call(headers, 'whoami')).status).toBe(200);
  const rename = { whoami: 'later_whoami', write: 'later_write' };
  configure({
    later: { url: issuer.mcpUrl, trusted: true, auth: { ...auth, scopes: ['read', 'write'] }, tools: { rename } },
  });
  await offered(headers, 'later_write');
  const before = exchanges().length;
  expect((await call(headers, 'later_write', 1)).text).toContain('written by grace');
  expect(exchanges().slice(before).length).toBeLessThanOrEqual(1);
  expect(exchanges().at(-1)!.form.get('scope')).toBe('read write');
});
