// Sign-ins against a real issuer, with everything that an issuer, a server or a third party can do wrong.
import { afterEach, beforeAll, afterAll, expect, test } from 'vitest';
import {
  openConnectedWorld,
  readAnswer,
  type ConnectedProcess,
  type ConnectedWorld,
} from '../../test/support/connected-world.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';

let testDatabase: TestDatabase;
let world: ConnectedWorld;
let here: ConnectedProcess;
beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  world = await openConnectedWorld(testDatabase.url, { idToken: true });
  here = world.open();
});
afterEach(() => {
  world.issuer.faults = {};
  world.servers.set('protected', { name: 'protected', url: world.issuer.mcpUrl, auth: { kind: 'oauth' } });
});
afterAll(async () => {
  await world.close();
  await testDatabase.drop();
});

const signal = () => AbortSignal.timeout(10_000);
const opened = async (principal: string) =>
  here.flows.open((await here.flows.begin(principal, 'protected', '/console')).flowId, signal());
const answered = async (principal: string) => readAnswer(await world.issuer.signIn(await opened(principal)));
const configure = (auth: object) =>
  world.servers.set('protected', { name: 'protected', url: world.issuer.mcpUrl, auth: { kind: 'oauth', ...auth } });

test('a user signs in, and the connection says as whom and with which scopes', async () => {
  world.issuer.user = 'ada';
  const address = new URL(await opened('principal-of-ada'));
  expect(Object.fromEntries(address.searchParams)).toMatchObject({
    response_type: 'code',
    code_challenge_method: 'S256',
    resource: world.issuer.mcpUrl,
    scope: 'read',
    redirect_uri: 'http://127.0.0.1:8000/connections/callback',
  });
  expect(address.href).not.toContain('ada');
  const { connection, returnTo } = await here.flows.complete(
    readAnswer(await world.issuer.signIn(address.href)),
    signal(),
  );
  expect(returnTo).toBe('/console');
  expect(connection).toMatchObject({
    principal: 'principal-of-ada',
    state: 'connected',
    account: 'ada@example.com',
    scopes: ['read'],
    issuer: world.issuer.url,
  });
  const [row] = await here.database.query<{ row: string }>('select connections::text as row from connections', []);
  for (const token of world.issuer.tokens) expect(row!.row).not.toContain(token);
  const audit = await here.database.query(
    `select principal, server, state, success from audit_events where kind = 'connection'`,
    [],
  );
  expect(audit).toEqual([{ principal: 'principal-of-ada', server: 'protected', state: 'connected', success: true }]);
});

verifies('connections.bound', 'a state works once, and an invented one never', async () => {
  const answer = await answered('bob');
  await here.flows.complete(answer, signal());
  await expect(here.flows.complete(answer, signal())).rejects.toMatchObject({ code: 'not_found' });
  await expect(here.flows.complete({ ...answer, state: 'invented' }, signal())).rejects.toMatchObject({
    code: 'not_found',
  });
});

verifies('connections.bound', 'two answers at once: one counts', async () => {
  const answer = await answered('bob');
  const ends = await Promise.allSettled([1, 2, 3, 4].map(() => here.flows.complete(answer, signal())));
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

verifies('connections.bound', 'the code of one principal under the state of another does not connect', async () => {
  const [alice, mallory] = [await answered('alice'), await answered('mallory')];
  await expect(here.flows.complete({ ...alice, code: mallory.code }, signal())).rejects.toMatchObject({
    code: 'tool_unavailable',
    message: expect.stringContaining('invalid_grant') as string,
  });
  expect(await here.store.get({ principal: 'alice', server: 'protected' })).toBeUndefined();
});

verifies('connections.bound', 'after ten minutes it is over', async () => {
  const { flowId, expiresAt } = await here.flows.begin('late', 'protected');
  expect(expiresAt.getTime() - Date.now()).toBeGreaterThan(590_000);
  const answer = readAnswer(await world.issuer.signIn(await here.flows.open(flowId, signal())));
  await here.database.query(
    `update connection_flows set expires_at = clock_timestamp() - interval '1 second' where principal = $1`,
    ['late'],
  );
  await expect(here.flows.complete(answer, signal())).rejects.toMatchObject({ code: 'not_found' });
  await expect(here.flows.open(flowId, signal())).rejects.toMatchObject({ code: 'not_found' });
});

verifies('connections.bound', 'an address that is opened again makes the first one void', async () => {
  const { flowId } = await here.flows.begin('twice', 'protected');
  const first = await here.flows.open(flowId, signal());
  const second = await here.flows.open(flowId, signal());
  const stale = readAnswer(await world.issuer.signIn(first));
  await expect(here.flows.complete(stale, signal())).rejects.toMatchObject({ code: 'not_found' });
  await here.flows.complete(readAnswer(await world.issuer.signIn(second)), signal());
});

verifies('connections.issuer-checked', 'iss of another issuer, or none where it is announced', async () => {
  const before = world.issuer.countOf('/token');
  for (const iss of ['https://other.example', '']) {
    world.issuer.faults = { iss };
    const answer = await answered('mixed-up');
    await expect(here.flows.complete(answer, signal()), iss).rejects.toMatchObject({
      code: 'invalid_value',
      param: 'iss',
    });
    await expect(here.flows.complete({ ...answer, iss: world.issuer.url }, signal())).rejects.toMatchObject({
      code: 'not_found',
    });
  }
  world.issuer.faults = { iss: '', metadata: { authorization_response_iss_parameter_supported: undefined } };
  await here.flows.complete(await answered('old-issuer'), signal());
  expect(world.issuer.countOf('/token')).toBe(before + 1);
});

verifies('connections.issuer-checked', 'metadata of another issuer or resource', async () => {
  for (const faults of [
    { metadata: { issuer: 'https://other.example' } },
    { resourceMetadata: { resource: 'https://other.example/mcp' } },
  ]) {
    world.issuer.faults = faults;
    await expect(opened('alice')).rejects.toMatchObject({ code: 'tool_unavailable' });
  }
  world.issuer.faults = {};
  configure({ issuer: 'https://other.example' });
  await expect(opened('alice')).rejects.toThrow('names another issuer');
});

verifies('connections.pkce', 'none, or only plain', async () => {
  for (const methods of [undefined, ['plain']]) {
    world.issuer.faults = { metadata: { code_challenge_methods_supported: methods } };
    await expect(opened('alice')).rejects.toThrow('does not support PKCE with S256');
  }
});

verifies('connections.client', 'configured, then a document, then registered once', async () => {
  const clientOf = async () => new URL(await opened('client')).searchParams.get('client_id');
  const known = world.issuer.countOf('/register');
  const registered = await clientOf();
  expect(await clientOf()).toBe(registered);
  expect(world.issuer.clients.has(registered!)).toBe(true);
  expect(world.issuer.countOf('/register')).toBeLessThanOrEqual(known + 1);
  world.issuer.faults = { metadata: { client_id_metadata_document_supported: true } };
  expect(await clientOf()).toBe('http://127.0.0.1:8000/.well-known/signalbox-client.json');
  configure({ client_id: 'configured' });
  expect(await clientOf()).toBe('configured');
  const rows = await here.database.query<{ row: string }>(
    'select connection_clients::text as row from connection_clients',
    [],
  );
  expect(rows).toHaveLength(1);
  for (const { secret } of world.issuer.clients.values()) expect(rows[0]!.row).not.toContain(secret);
});

verifies('connections.client', 'an issuer without registration says what to configure', async () => {
  await here.database.query('delete from connection_clients', []);
  world.issuer.faults = { metadata: { registration_endpoint: undefined } };
  await expect(opened('alice')).rejects.toThrow('auth.client_id');
});

verifies('connections.guarded', 'metadata and endpoints on other private hosts are not asked', async () => {
  const elsewhere = 'http://10.1.2.3:9/';
  world.issuer.faults = { resourceMetadata: { authorization_servers: [elsewhere] } };
  await expect(opened('alice')).rejects.toMatchObject({ code: 'tool_denied' });
  world.issuer.faults = { metadata: { token_endpoint: 'https://10.1.2.3/token' } };
  await expect(here.flows.complete(await answered('alice'), signal())).rejects.toMatchObject({ code: 'tool_denied' });
  world.issuer.faults = { redirect: `${world.issuer.url}/elsewhere` };
  await expect(opened('alice')).rejects.toThrow('redirects');
});

test('a refusal by the user, and answers that make no sense, are told without what they say', async () => {
  world.issuer.faults = { refusal: 'access_denied' };
  await expect(here.flows.complete(await answered('alice'), signal())).rejects.toMatchObject({
    code: 'invalid_value',
    message: 'The issuer did not sign in: access_denied',
  });
  world.issuer.faults = { refusal: '<script>canary</script>' };
  await expect(here.flows.complete(await answered('alice'), signal())).rejects.toThrow(/did not sign in: no code$/);
  for (const tokenError of [
    { status: 500, body: 'canary-of-a-body' },
    { status: 200, body: '{"token":"canary-of-a-body"}' },
    { status: 400, body: '<html>canary-of-a-body' },
  ]) {
    world.issuer.faults = {};
    const answer = await answered('alice');
    world.issuer.faults = { tokenError };
    const error = (await here.flows.complete(answer, signal()).catch((thrown: unknown) => thrown)) as Error;
    expect(error).toMatchObject({ code: 'tool_unavailable' });
    expect(`${error.message} ${String(error.cause)}`).not.toContain('canary');
  }
});

const usual = { access_token: 'token-of-odd-answers', token_type: 'Bearer' };
const given = (answer: object) => ({ tokenError: { status: 200, body: JSON.stringify(answer) } });

verifies(
  'connections.odd-answers',
  'at a sign-in: members that are null, scopes, and times that cannot be',
  async () => {
    const odd = { expires_in: null, refresh_token: null, id_token: null };
    const cases: [scope: string | null, scopes: string[]][] = [
      [null, ['read']],
      ['a\0b a\tc  a', ['a\ufffdb', 'a', 'c']],
      ['x '.repeat(100_000), ['x']],
    ];
    for (const [scope, scopes] of cases) {
      world.issuer.faults = {};
      const answer = await answered('odd');
      world.issuer.faults = given({ ...usual, ...odd, scope });
      const { connection } = await here.flows.complete(answer, signal());
      expect(connection).toMatchObject({ state: 'connected', scopes, expiresAt: null });
    }
    for (const expiry of [1e300, 1e14, -1, null]) {
      await here.database.query('delete from connection_clients', []);
      world.issuer.faults = { registered: { client_secret_expires_at: expiry, jwks_uri: null } };
      expect(await opened('odd')).toContain('/authorize');
    }
  },
);

verifies('connections.odd-answers', 'tokens that no header can carry', async () => {
  for (const token of ['', 'a\r\nX-Other: b', 'a b', '\u4f60', 'x'.repeat(20_000)]) {
    world.issuer.faults = {};
    const answer = await answered('unsendable');
    world.issuer.faults = given({ ...usual, access_token: token });
    await expect(here.flows.complete(answer, signal())).rejects.toMatchObject({
      code: 'tool_unavailable',
      message: 'The issuer sent a token that cannot be used',
    });
  }
});

verifies('connections.revoked', 'the issuer forgets the tokens too', async () => {
  await here.connect('leaver');
  expect(await here.flows.revoke({ principal: 'leaver', server: 'protected' }, signal())).toBe(true);
  expect(world.issuer.countOf('/revoke')).toBe(1);
  expect(await here.store.get({ principal: 'leaver', server: 'protected' })).toBeUndefined();
  expect(await here.flows.revoke({ principal: 'leaver', server: 'protected' }, signal())).toBe(false);
});

verifies('connections.headers', 'the values are checked and sealed', async () => {
  world.servers.set('keyed', { name: 'keyed', url: world.issuer.mcpUrl, auth: { kind: 'headers', names: ['X-Key'] } });
  await expect(here.flows.connectHeaders({ principal: 'ada', server: 'keyed' }, {})).rejects.toMatchObject({
    param: 'X-Key',
  });
  await expect(
    here.flows.connectHeaders({ principal: 'ada', server: 'keyed' }, { 'X-Key': 'a\r\nb' }),
  ).rejects.toMatchObject({
    param: 'X-Key',
  });
  const { sealed } = await here.flows.connectHeaders(
    { principal: 'ada', server: 'keyed' },
    { 'X-Key': 'canary-of-a-key' },
  );
  expect(sealed).not.toContain('canary');
  const server = world.servers.get('keyed')!;
  expect(await here.tokens.credentialFor('ada', server, signal())).toMatchObject({
    headers: { 'x-key': 'canary-of-a-key' },
  });
  await expect(here.tokens.credentialFor('bob', server, signal())).rejects.toMatchObject({ code: 'connection_needed' });
});

verifies(
  'connections.issuer-checked',
  'a server that names none is one, under any name of its own origin',
  async () => {
    const issuer = `${world.issuer.url}/tenant`;
    world.issuer.faults = { undescribed: true, metadata: { issuer }, iss: issuer };
    const { connection } = await here.flows.complete(await answered('of-an-old-server'), signal());
    expect(connection).toMatchObject({ state: 'connected', issuer });
    for (const faults of [
      { undescribed: true, metadata: { issuer: 'https://other.example' } },
      { undescribed: true, metadata: { issuer: 'not an address' } },
      { metadata: { issuer } },
    ]) {
      world.issuer.faults = faults;
      await expect(opened('alice')).rejects.toMatchObject({ code: 'tool_unavailable' });
    }
  },
);
