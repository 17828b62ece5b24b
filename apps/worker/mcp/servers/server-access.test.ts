// Users at a tool server that is protected by a real issuer: whose rights calls have, and what happens when the server refuses them.
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import {
  openConnectedWorld,
  type ConnectedProcess,
  type ConnectedWorld,
} from '../../../../test/support/connected-world.js';
import { createMigratedDatabase, type TestDatabase } from '../../../../test/support/services/test-database.js';
import { openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';
import { listServer } from '../catalog/list-server.js';

let testDatabase: TestDatabase;
let world: ConnectedWorld;
let here: ConnectedProcess;
let servers: ToolServers;
const environment = { VAULT_KEY: Buffer.alloc(32, 1).toString('base64'), CLIENT_SECRET: 'canary-client-secret' };
beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
});
afterAll(() => testDatabase.drop());
beforeEach(() => open());
afterEach(async () => {
  await servers.close();
  await world.close();
});

async function open(options: Parameters<typeof openConnectedWorld>[1] = {}, auth: object = { kind: 'oauth' }) {
  await servers?.close();
  await world?.close();
  world = await openConnectedWorld(testDatabase.url, options, auth);
  here = world.open();
  await here.database.query('delete from connections', []);
  const { store, tokens } = here;
  const configured = { protected: { url: world.issuer.mcpUrl, auth } };
  servers = await openToolServers(configured, { environment, connections: { store, tokens } });
}

const signal = () => AbortSignal.timeout(20_000);
const call = async (principal: string, tool = 'whoami') => {
  const user = { principal, sessionId: 'sess_a', directory: `ws_${principal}` };
  const given = { user, signal: signal(), deadline: Date.now() + 60_000 };
  const options = { signal: signal(), maxTimeoutMs: 20_000, onProgress: () => undefined };
  const request = { tool, arguments: {}, meta: {} };
  const { content } = await servers.pool.use('protected', given, (connection) => connection.callTool(request, options));
  return (content as { text: string }[])[0]!.text;
};
const list = async () => {
  const server = servers.configured.servers.find(({ name }) => name === 'protected')!;
  const parts = { pool: servers.pool, workspaces: servers.workspaces, timeoutMs: 10_000 };
  const { tools } = await listServer(server, parts, { signal: signal(), onConnection: () => undefined });
  return tools.map((tool) => (tool as { name: string }).name);
};
const rowOf = (principal: string) => here.store.get({ principal, server: 'protected' });

verifies('connections.apart', 'calls of two users at the same time', async () => {
  await here.connect('alice');
  await here.connect('bob');
  const said = await Promise.all(['alice', 'bob', 'alice', 'bob'].map((principal) => call(principal)));
  expect(said).toEqual(['alice', 'bob', 'alice', 'bob']);
  expect(servers.pool.instances).toBe(2);
});

verifies('connections.apart', 'a user who connects as another account gets a new instance', async () => {
  await here.connect('alice');
  expect(await call('alice')).toBe('alice');
  world.issuer.user = 'alice-at-work';
  const { flowId } = await here.flows.begin('alice', 'protected');
  const { searchParams } = await world.issuer.signIn(await here.flows.open(flowId, signal()));
  const [state, code, iss] = ['state', 'code', 'iss'].map((name) => searchParams.get(name)!);
  await here.flows.complete({ state: state!, code, iss }, signal());
  servers.pool.reconnect({ server: 'protected', principal: 'alice' });
  expect(servers.pool.instances).toBe(0);
  expect(await call('alice')).toBe('alice-at-work');
});

verifies('connections.needed', 'nobody has signed in, again and again, and others are not held up', async () => {
  for (let time = 0; time < 8; time += 1) {
    await expect(call('nobody')).rejects.toMatchObject({ code: 'connection_needed', server: 'protected' });
  }
  await here.connect('alice');
  expect(await call('alice')).toBe('alice');
  expect(world.issuer.calls).toHaveLength(1);
});

verifies('connections.needed', 'a token that the server refuses is renewed once, within the call', async () => {
  await here.connect('alice');
  expect(await call('alice')).toBe('alice');
  world.issuer.expireAccess();
  expect(await Promise.all([call('alice'), call('alice'), call('alice')])).toEqual(['alice', 'alice', 'alice']);
  expect(world.issuer.countOf('/token', 'refresh_token')).toBe(1);
});

verifies('connections.needed', 'the refresh is refused too', async () => {
  await here.connect('alice');
  expect(await call('alice')).toBe('alice');
  world.issuer.revokeAll();
  await expect(call('alice')).rejects.toMatchObject({ code: 'connection_needed' });
  expect(await rowOf('alice')).toMatchObject({ state: 'expired', sealed: null });
  await here.connect('alice');
  expect(await call('alice')).toBe('alice');
});

verifies('connections.needed', 'the server refuses a fresh token', async () => {
  await here.connect('alice');
  world.issuer.refusesAll = true;
  await expect(call('alice')).rejects.toMatchObject({ code: 'connection_needed' });
  expect(await rowOf('alice')).toMatchObject({ state: 'error' });
  expect(world.issuer.countOf('/token', 'refresh_token')).toBe(1);
});

verifies('connections.needed', 'a tool that takes another scope', async () => {
  await open({ scopes: { write: 'write' } });
  await here.connect('alice');
  expect(await call('alice')).toBe('alice');
  await expect(call('alice', 'write')).rejects.toMatchObject({ code: 'connection_needed', scopes: ['write'] });
  expect(await rowOf('alice')).toMatchObject({ state: 'connected', wantedScopes: ['write'], scopes: ['read'] });
  expect(world.issuer.calls.map(({ tool }) => tool)).toEqual(['whoami']);
  await here.connect('alice');
  expect(await rowOf('alice')).toMatchObject({ wantedScopes: [], scopes: ['read', 'write'] });
  expect(await call('alice', 'write')).toBe('written by alice');
});

verifies('connections.listed', 'openly, with somebody else, and by nobody', async () => {
  await expect(list()).rejects.toMatchObject({ code: 'connection_needed' });
  await here.connect('alice');
  expect(await list()).toEqual(['whoami', 'write']);
  await open({ listsOpenly: true });
  expect(await list()).toEqual(['whoami', 'write']);
  await expect(call('nobody')).rejects.toMatchObject({ code: 'connection_needed' });
});

verifies('connections.own-client', 'all users share an instance with the rights of the gateway', async () => {
  await open({}, { kind: 'client_credentials', client_id: 'gateway', client_secret: '${CLIENT_SECRET}' });
  world.issuer.clients.set('gateway', { secret: environment.CLIENT_SECRET, method: 'client_secret_basic' });
  expect(await list()).toEqual(['whoami', 'write']);
  expect(await Promise.all(['alice', 'bob'].map((principal) => call(principal)))).toEqual(['gateway', 'gateway']);
  world.issuer.expireAccess();
  expect(await call('carol')).toBe('gateway');
  expect(servers.pool.instances).toBe(1);
  expect(world.issuer.countOf('/token', 'client_credentials')).toBe(2);
});

verifies('connections.headers', "each user's own key is sent, and a refused one ends the connection", async () => {
  await open({}, { kind: 'headers', names: ['x-key'] });
  await expect(call('alice')).rejects.toMatchObject({ code: 'connection_needed' });
  for (const principal of ['alice', 'bob']) {
    await here.flows.connectHeaders({ principal, server: 'protected' }, { 'x-key': world.issuer.giveKey(principal) });
  }
  expect(await Promise.all([call('alice'), call('bob')])).toEqual(['alice', 'bob']);
  world.issuer.expireAccess();
  await expect(call('alice')).rejects.toMatchObject({ code: 'connection_needed' });
  expect(await rowOf('alice')).toMatchObject({ state: 'expired', sealed: null });
});

verifies('connections.secret', 'the log of calls that succeed and fail', async () => {
  await here.connect('alice');
  await call('alice');
  world.issuer.expireAccess();
  await call('alice');
  world.issuer.faults = {
    tokenError: { status: 400, body: `{"error":"invalid_grant","error_description":"${world.issuer.tokens[0]}"}` },
  };
  world.issuer.expireAccess();
  const error = (await call('alice').catch((thrown: unknown) => thrown)) as Error;
  expect(error).toMatchObject({ code: 'connection_needed' });
  const log = JSON.stringify(servers.log, (_, value: unknown) =>
    value instanceof Error ? { text: `${value.stack}`, cause: value.cause } : value,
  );
  expect(log).toContain('tool server connected');
  expect(world.issuer.tokens.length).toBeGreaterThan(3);
  for (const token of world.issuer.tokens) expect(`${log} ${error.stack} ${String(error.cause)}`).not.toContain(token);
});
