// Callers with a token of the issuer at a tool server whose own tokens are got for it: two gateways, a worker, and an issuer that exchanges.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, vi } from 'vitest';
import { KeyStore } from '#libs/access/key-store.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { type AuthorizationServer, startAuthorizationServer } from '../support/authorization-server.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { audience, startTokenIssuer, type TokenIssuer } from '../support/token-issuer.js';
import { verifies } from '../verifies.js';

const grant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const clientSecret = 'canary-secret-of-the-client';
const directory = mkdtempSync(join(tmpdir(), 'signalbox-exchange-'));
let users: TokenIssuer;
let issuer: AuthorizationServer;
let box: SignalboxHere;
/** What `whoami` is called, by server. */
const names: Record<string, string> = {};
/** What clients were answered. */
const answers: string[] = [];
const shown: string[] = [];

beforeAll(async () => {
  users = await startTokenIssuer();
  issuer = await startAuthorizationServer({ users });
  for (const client of ['us', 'us-there'])
    issuer.clients.set(client, { secret: clientSecret, method: 'client_secret_basic' });
  const ours = { kind: 'token_exchange', client_id: 'us', client_secret: '${CLIENT_SECRET}', scopes: ['read'] };
  const there = { id_jag: true, server_client_id: 'us-there', server_client_secret: '${CLIENT_SECRET}' };
  const url = issuer.mcpUrl;
  const mcpServers = {
    crm: { url, trusted: true, auth: { ...ours, audience: 'the-crm' } },
    managed: { url, trusted: true, auth: { ...ours, ...there } },
  };
  const file = join(directory, 'signalbox.yaml');
  writeFileSync(file, JSON.stringify({ mcpServers }));
  box = await startSignalboxHere({
    gateways: 0,
    scripted: false,
    environment: {
      SIGNALBOX_CONFIG: file,
      VAULT_KEY: randomBytes(32).toString('base64'),
      CLIENT_SECRET: clientSecret,
      POLICY_DEFAULT: 'allow',
      AUTH_JWT_ISSUER: issuer.url,
      AUTH_JWT_AUDIENCE: audience,
      LIMITS_PRINCIPAL_CALLS: '200',
      LIMITS_SESSION_CALLS: '200',
    },
  });
  await Promise.all([box.startGateway(), box.startGateway()]);
  const token = await tokenOf('first');
  // Tools of a server that lists them for nobody are listed with the rights of the first that signs in.
  await vi.waitFor(
    async () => {
      const { text } = await ask(token, 'GET /api/tools');
      const { data } = JSON.parse(text) as { data: { server: string; function: { name: string } }[] };
      for (const server of ['crm', 'managed']) {
        const listed = data.find((each) => each.server === server && each.function.name.endsWith('whoami'));
        names[server] = listed!.function.name;
      }
    },
    { timeout: 30_000, interval: 100 },
  );
}, 90_000);
beforeEach(() => {
  issuer.faults = {};
  issuer.tokenSeconds = 3_600;
});
afterAll(async () => {
  await box?.close();
  await issuer?.stop();
  await users?.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function tokenOf(sub: string, seconds = 3_600): Promise<string> {
  const token = await users.token({ claims: { iss: issuer.url, sub, exp: Math.floor(Date.now() / 1_000) + seconds } });
  shown.push(token);
  return token;
}

async function ask(token: string, route: string, body?: object, gateway = 0) {
  const [method = '', path] = route.split(' ');
  const answer = await fetch(`${box.gateways[gateway]!.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  answers.push(text);
  return { status: answer.status, text };
}
const call = (token: string, gateway = 0, server = 'crm') =>
  ask(token, 'POST /api/tools/call', { name: names[server], arguments: {} }, gateway);
const exchanges = () => issuer.countOf('/token', grant);
const connectionOf = async (token: string, server = 'crm') => {
  const { text } = await ask(token, 'GET /api/connections');
  return (JSON.parse(text) as { data: Record<string, unknown>[] }).data.find((each) => each['server'] === server);
};
const audited = (principal: string) =>
  box.rows(
    `select state, error_code from audit_events where kind = 'connection' and principal = $1 and server = 'crm' order by at`,
    [principal],
  );

verifies('connections.exchanged', '100 calls of two users by two gateways: one exchange each', async () => {
  const tokens = { alice: await tokenOf('alice'), bob: await tokenOf('bob') };
  issuer.faults = { slowMs: 200 };
  const before = exchanges();
  const said = await Promise.all(
    Array.from({ length: 100 }, async (_, at) => {
      const user = at % 4 < 2 ? 'alice' : 'bob';
      return [user, await call(tokens[user], at % 2)] as const;
    }),
  );
  for (const [user, { status, text }] of said) {
    expect([status, text]).toEqual([200, expect.stringContaining(`"content":"${user}"`)]);
  }
  expect(exchanges()).toBe(before + 2);
  const { form } = issuer.asked.filter((each) => each.form.get('grant_type') === grant).at(-1)!;
  expect(Object.values(tokens)).toContain(form.get('subject_token'));
  expect(Object.fromEntries(form)).toMatchObject({ audience: 'the-crm', resource: issuer.mcpUrl, scope: 'read' });
  expect(await audited('alice')).toEqual([{ state: 'connected', error_code: null }]);
});

verifies('connections.exchanged', 'by an ID-JAG at the issuer of the server', async () => {
  const token = await tokenOf('jack');
  expect(await call(token, 0, 'managed')).toMatchObject({
    status: 200,
    text: expect.stringContaining('jack') as string,
  });
  const [asked, taken] = issuer.asked.filter(({ path }) => path === '/token').slice(-2);
  expect(Object.fromEntries(asked!.form)).toMatchObject({
    requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
    subject_token: token,
    audience: issuer.url,
    resource: issuer.mcpUrl,
  });
  expect(taken!.form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
  expect(issuer.tokens).toContain(taken!.form.get('assertion'));
});

verifies(
  'connections.exchanged',
  'a connection ends with the token of the caller, and begins again with the next',
  async () => {
    const token = await tokenOf('carol', 60);
    expect((await call(token)).status).toBe(200);
    const made = await connectionOf(token);
    expect(made).toMatchObject({ kind: 'token_exchange', state: 'connected', scopes: ['read'] });
    expect(Date.parse(made!['expires_at'] as string)).toBeLessThan(Date.now() + 61_000);
    await box.rows(
      `update connections set expires_at = clock_timestamp() - interval '1 second' where principal = 'carol'`,
    );
    expect(await connectionOf(token)).toMatchObject({ state: 'expired' });
    const before = exchanges();
    expect((await call(await tokenOf('carol'), 1)).status).toBe(200);
    expect(exchanges()).toBe(before + 1);
    issuer.expireAccess();
    // The server takes the token no more: the call itself begins again.
    expect((await call(token)).status).toBe(200);
    expect(exchanges()).toBe(before + 2);
  },
);

verifies('connections.exchange-refused', 'by the issuer, which is audited with its reason; or it is away', async () => {
  const token = await tokenOf('dave');
  issuer.faults = { refusedAudience: 'the-crm' };
  const { status, text } = await call(token);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(text).toContain('refused: invalid_target');
  expect(await audited('dave')).toEqual([{ state: 'refused', error_code: 'invalid_target' }]);
  issuer.faults = { tokenError: { status: 503, body: `away with ${token}` } };
  expect((await call(token)).text).toContain('tool_unavailable');
  expect(await connectionOf(token)).toMatchObject({ state: 'needed', connected_at: null });
  issuer.faults = {};
  expect((await call(token)).status).toBe(200);
});

verifies('connections.exchange-refused', 'a caller without a token is told so, and waits for nothing', async () => {
  const database = openDatabase({ url: box.databaseUrl, poolSize: 1, timeoutMs: 5_000, applicationName: 'test' });
  try {
    const by = { principal: 'root', requestId: 'req_1' };
    const { key } = await new KeyStore(database).create({ owner: 'erin', scopes: ['tools'], roles: [] }, by);
    const { text } = await call(key);
    expect(text).toContain('connection_needed');
    expect(text).toContain('needs a token of the issuer');
    expect(await box.rows(`select id from approvals where principal = 'erin'`)).toEqual([]);
    // The same user, by a token: then the key may use what was exchanged.
    expect((await call(await tokenOf('erin'))).status).toBe(200);
    expect((await call(key)).status).toBe(200);
  } finally {
    await database.close();
  }
});

verifies('connections.exchanged', 'nothing is connected by hand', async () => {
  const token = await tokenOf('frank');
  expect(await connectionOf(token)).toMatchObject({ state: 'needed' });
  const { status, text } = await ask(token, 'POST /api/connections/crm', {});
  expect([status, text]).toEqual([400, expect.stringContaining('nothing to connect')]);
});

verifies(
  'connections.secret',
  'neither tokens of callers nor exchanged ones are in answers, rows and logs',
  async () => {
    const tables = await box.rows<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
    );
    const rows = await Promise.all(tables.map(({ name }) => box.rows(`select * from ${name}`)));
    const logs = [...box.gateways, ...box.workers].map(({ log }) => log);
    const everything = JSON.stringify([rows, answers, logs]);
    expect(everything).toContain('whoami');
    for (const secret of [clientSecret, ...shown, ...issuer.tokens]) expect(everything).not.toContain(secret);
  },
);
