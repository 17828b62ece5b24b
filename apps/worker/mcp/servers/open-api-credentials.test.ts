// Whose rights the calls of an API have: users who sign in at a real issuer, the gateway itself, and those whom a statement names.
import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { StatementMint } from '#libs/access/identity/caller-statement.js';
import { IdentityKeys } from '#libs/access/identity/identity-keys.js';
import { openConnectedWorld, type ConnectedWorld } from '../../../../test/support/connected-world.js';
import { petsApiOfFile, resultText } from '../../../../test/support/pets-api.js';
import { createMigratedDatabase, type TestDatabase } from '../../../../test/support/services/test-database.js';
import { verifies } from '../../../../test/verifies.js';

const api = petsApiOfFile();
const signal = () => AbortSignal.timeout(20_000);
let database: TestDatabase;
let world: ConnectedWorld;
const environment = { VAULT_KEY: Buffer.alloc(32, 1).toString('base64'), CLIENT_SECRET: 'canary-client-secret' };
beforeAll(async () => {
  database = await createMigratedDatabase();
});
afterAll(() => database.drop());
afterEach(() => world.close());

async function signedIn(auth: object = { kind: 'oauth' }) {
  world = await openConnectedWorld(database.url, { scopes: { write: 'write' } }, auth);
  world.servers.set('pets', { ...world.servers.get('protected')!, name: 'pets' });
  const here = world.open();
  await here.database.query('delete from connections', []);
  const { store, tokens } = here;
  await api.open({ base_url: world.issuer.mcpUrl, auth }, { environment, connections: { store, tokens } });
  const ask = async (principal: string, what = 'whoami') => {
    const user = { principal, sessionId: 'sess_a', directory: `ws_${principal}` };
    const options = { signal: signal(), maxTimeoutMs: 20_000, onProgress: () => undefined };
    const request = { tool: 'ask', arguments: { what }, meta: {} };
    return api.servers!.pool.use('pets', { user, signal: signal(), deadline: Date.now() + 60_000 }, (connection) =>
      connection.callTool(request, options),
    );
  };
  return { here, ask };
}

verifies('openapi.credentials', 'each user has their own token, which is renewed once', async () => {
  const { here, ask } = await signedIn();
  await expect(ask('alice')).rejects.toMatchObject({ code: 'connection_needed' });
  await here.connect('alice', 'pets');
  await here.connect('bob', 'pets');
  const users = await Promise.all(['alice', 'bob', 'alice'].map(async (name) => (await ask(name)).structuredContent));
  expect(users).toMatchObject([{ user: 'alice' }, { user: 'bob' }, { user: 'alice' }]);
  world.issuer.expireAccess();
  expect((await ask('alice')).structuredContent).toMatchObject({ user: 'alice', sent: '[redacted]' });
  expect(world.issuer.countOf('/token', 'refresh_token')).toBe(1);
  await expect(ask('alice', 'write')).rejects.toMatchObject({ code: 'connection_needed', scopes: ['write'] });
  world.issuer.refusesAll = true;
  await expect(ask('alice')).rejects.toMatchObject({ code: 'connection_needed' });
});

verifies('openapi.credentials', 'the headers of each user', async () => {
  const { here, ask } = await signedIn({ kind: 'headers', names: ['x-key'] });
  await expect(ask('alice')).rejects.toMatchObject({ code: 'connection_needed' });
  for (const principal of ['alice', 'bob'])
    await here.flows.connectHeaders({ principal, server: 'pets' }, { 'x-key': world.issuer.giveKey(principal) });
  const users = await Promise.all(['alice', 'bob'].map(async (name) => (await ask(name)).structuredContent));
  expect(users).toMatchObject([{ user: 'alice', sent: '[redacted]' }, { user: 'bob' }]);
  world.issuer.expireAccess();
  await expect(ask('alice')).rejects.toMatchObject({ code: 'connection_needed' });
});

verifies('openapi.credentials', 'the tools are listed without anybody', async () => {
  await signedIn();
  expect((await api.list()).map(({ name }) => name)).toContain('ask');
});

verifies('openapi.credentials', 'the token of the gateway itself, and its refusal is an answer', async () => {
  const auth = { kind: 'client_credentials', client_id: 'gateway', client_secret: '${CLIENT_SECRET}' };
  const { ask } = await signedIn(auth);
  world.issuer.clients.set('gateway', { secret: environment.CLIENT_SECRET, method: 'client_secret_basic' });
  expect((await ask('alice')).structuredContent).toMatchObject({ sent: '[redacted]' });
  world.issuer.refusesAll = true;
  expect(resultText(await ask('alice'))).toMatch(/^HTTP 401/);
});

verifies('openapi.credentials', 'a statement about the caller, and headers of their request', async () => {
  world = await openConnectedWorld(database.url);
  const statements = new StatementMint({
    keys: new IdentityKeys(world.open().database),
    issuer: 'https://gate.example',
  });
  await api.open({ identity: { kind: 'jwt', header: 'x-caller' }, forward_headers: ['X-Tenant'] }, { statements });
  const headers = { 'x-tenant': 'acme' };
  const user = { principal: 'alice', sessionId: 'sess_a', directory: 'ws_a', headers };
  const options = { signal: signal(), maxTimeoutMs: 20_000, onProgress: () => undefined };
  await api.servers!.pool.use('pets', { user, signal: signal(), deadline: Date.now() + 60_000 }, (connection) =>
    connection.callTool({ tool: 'ask', arguments: { what: 'x' }, meta: {} }, options),
  );
  const { 'x-tenant': tenant, 'x-caller': statement } = api.seen[0]!.headers;
  expect(tenant).toBe('acme');
  expect(decodeJwt(String(statement))).toMatchObject({
    sub: 'alice',
    aud: `${api.url}/v1`,
    iss: 'https://gate.example',
  });
});
