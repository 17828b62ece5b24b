// Tokens over several processes: renewed once, stored before they are used, ended when they are refused.
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { openConnectedWorld, type ConnectedProcess, type ConnectedWorld } from '../../test/support/connected-world.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import type { ConnectedServer } from './issuer.js';

let testDatabase: TestDatabase;
let world: ConnectedWorld;
let processes: ConnectedProcess[];
beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  world = await openConnectedWorld(testDatabase.url);
  processes = [world.open(), world.open()];
});
beforeEach(() => {
  world.issuer.faults = {};
  world.issuer.tokenSeconds = 3_600;
});
afterAll(async () => {
  await world.close();
  await testDatabase.drop();
});

const signal = () => AbortSignal.timeout(20_000);
const server = (): ConnectedServer => world.servers.get('protected')!;
const refreshes = () => world.issuer.countOf('/token', 'refresh_token');
const credential = (at: ConnectedProcess, principal: string, refused?: string) =>
  at.tokens.credentialFor(principal, server(), signal(), refused);
const hundred = (ask: (at: ConnectedProcess) => Promise<unknown>) =>
  Promise.all(Array.from({ length: 100 }, (_, at) => ask(processes[at % 2]!)));

/** The token ends in five seconds. */
async function connectLongAgo(at: ConnectedProcess, principal: string): Promise<void> {
  await at.connect(principal);
  await at.database.query(
    `update connections set expires_at = clock_timestamp() + interval '5 seconds' where principal = $1`,
    [principal],
  );
}

verifies('connections.refresh-once', '100 calls over two processes with a token that is about to end', async () => {
  const [here] = processes;
  await connectLongAgo(here!, 'alice');
  world.issuer.faults = { slowMs: 200 };
  const before = refreshes();
  const credentials = await hundred((at) => credential(at, 'alice'));
  expect(refreshes()).toBe(before + 1);
  expect(new Set(credentials.map((each) => JSON.stringify(each))).size).toBe(1);
  await hundred((at) => credential(at, 'alice'));
  expect(refreshes()).toBe(before + 1);
});

verifies('connections.refresh-once', '100 calls whose token the server has refused', async () => {
  const [here] = processes;
  await here!.connect('bob');
  const { version } = await credential(here!, 'bob');
  const before = refreshes();
  const credentials = await hundred((at) => credential(at, 'bob', version));
  expect(refreshes()).toBe(before + 1);
  expect(new Set(credentials.map((each) => JSON.stringify(each))).size).toBe(1);
});

verifies('connections.refresh-once', 'a caller that leaves does not lose the new token', async () => {
  const [here] = processes;
  await connectLongAgo(here!, 'leaving');
  world.issuer.faults = { slowMs: 300 };
  const leaving = new AbortController();
  const left = here!.tokens.credentialFor('leaving', server(), leaving.signal);
  setTimeout(() => leaving.abort(new Error('left')), 100);
  await expect(left).rejects.toThrow('left');
  const before = refreshes();
  await credential(here!, 'leaving');
  expect(refreshes()).toBe(before);
});

verifies('connections.refresh-once', 'a process that died while it renewed is replaced', async () => {
  const [here] = processes;
  await connectLongAgo(here!, 'dead');
  const row = (await here!.store.get({ principal: 'dead', server: 'protected' }))!;
  expect(await here!.store.lease(row, { version: row.version, holder: 'gone', forMs: 500 })).toBe(true);
  expect(await here!.store.lease(row, { version: row.version, holder: 'other', forMs: 500 })).toBe(false);
  const before = refreshes();
  await hundred((at) => credential(at, 'dead'));
  expect(refreshes()).toBe(before + 1);
});

verifies('connections.refresh-once', 'tokens that last some seconds are used too', async () => {
  const [here] = processes;
  world.issuer.tokenSeconds = 4;
  await here!.connect('short');
  const before = refreshes();
  await hundred((at) => credential(at, 'short'));
  expect(refreshes()).toBe(before);
});

verifies('connections.refused-refresh', 'the connection ends, with its tokens', async () => {
  const [here] = processes;
  await here!.connect('carol');
  const { version } = await credential(here!, 'carol');
  world.issuer.revokeAll();
  await expect(credential(here!, 'carol', version)).rejects.toMatchObject({
    code: 'connection_needed',
    server: 'protected',
  });
  expect(await here!.store.get({ principal: 'carol', server: 'protected' })).toMatchObject({
    state: 'expired',
    sealed: null,
  });
  await here!.connect('carol');
  expect(await credential(here!, 'carol')).toHaveProperty('token');
});

verifies('connections.refused-refresh', 'an issuer that is away: the token is used as long as it lasts', async () => {
  const [here] = processes;
  await connectLongAgo(here!, 'dave');
  world.issuer.faults = { tokenError: { status: 503, body: 'away' } };
  const { version } = await credential(here!, 'dave');
  await expect(credential(here!, 'dave', version)).rejects.toMatchObject({ code: 'tool_unavailable' });
  world.issuer.faults = {};
  expect(await credential(here!, 'dave', version)).not.toMatchObject({ version });
});

verifies('connections.odd-answers', 'a renewed token, whose other members are null or cannot be stored', async () => {
  for (const [at, scope] of [null, 'read\0'].entries()) {
    const [here] = processes as [ConnectedProcess];
    await connectLongAgo(here, `odd${at}`);
    const answer = { access_token: 'renewed', token_type: 'Bearer', refresh_token: null, scope };
    world.issuer.faults = { tokenError: { status: 200, body: JSON.stringify(answer) } };
    expect(await credential(here, `odd${at}`)).toMatchObject({ token: 'renewed' });
    world.issuer.faults = {};
  }
});

verifies('connections.sealed', 'a row that is copied to another principal gives nothing', async () => {
  const [here] = processes;
  await here!.connect('victim');
  await here!.database.query(
    `insert into connections (principal, server, issuer, resource, state, sealed)
     select 'thief', server, issuer, resource, state, sealed from connections where principal = 'victim'`,
    [],
  );
  await expect(credential(here!, 'thief')).rejects.toThrow('does not open');
});

verifies('connections.bound', 'tokens are not sent to another address that is configured later', async () => {
  const [here] = processes;
  await here!.connect('moved');
  const elsewhere = { ...server(), url: 'https://elsewhere.example/mcp' };
  await expect(here!.tokens.credentialFor('moved', elsewhere, signal())).rejects.toMatchObject({
    code: 'connection_needed',
  });
});

verifies('connections.own-client', 'one token for all users, asked for once by two processes', async () => {
  world.issuer.clients.set('gateway', { secret: 'canary-of-a-secret', method: 'client_secret_basic' });
  const auth = { kind: 'client_credentials' as const, client_id: 'gateway', client_secret: 'canary-of-a-secret' };
  const own = { name: 'ledger', url: world.issuer.mcpUrl, auth };
  const got = await hundred((at) => at.tokens.credentialFor('anybody', own, signal()));
  expect(new Set(got.map((each) => JSON.stringify(each))).size).toBe(1);
  expect(world.issuer.countOf('/token', 'client_credentials')).toBe(1);
  const last = world.issuer.asked.filter(({ path }) => path === '/token').at(-1)!;
  expect(Object.fromEntries(last.form)).toMatchObject({ resource: world.issuer.mcpUrl, scope: 'read' });
  const wrong = { ...own, name: 'wrong', auth: { ...auth, client_secret: 'another' } };
  await expect(processes[0]!.tokens.credentialFor('', wrong, signal())).rejects.toMatchObject({
    code: 'tool_unavailable',
    message: expect.stringContaining('invalid_client') as string,
  });
});
