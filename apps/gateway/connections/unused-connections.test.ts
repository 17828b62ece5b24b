// Connections with a server that was taken out of the configuration, on a real database, with an issuer that knows their tokens.
import { afterAll, beforeAll, expect } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import {
  type ConnectedProcess,
  type ConnectedWorld,
  openConnectedWorld,
} from '../../../test/support/connected-world.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import { UnusedConnections } from './unused-connections.js';

const keptMs = 30 * 86_400_000;
let testDatabase: TestDatabase;
let world: ConnectedWorld;
let here: ConnectedProcess;
beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  world = await openConnectedWorld(testDatabase.url);
  here = world.open();
});
afterAll(async () => {
  await world?.close();
  await testDatabase?.drop();
});

const sweep = () =>
  new UnusedConnections({
    store: here.store,
    configured: () => [...world.servers.keys()],
    end: (key, signal) => here.flows.revoke(key, signal),
    keptMs,
    logger: silentLogger,
  }).sweep();
const age = (by: string) =>
  here.database.query(`update connections set unused_since = unused_since - $1::interval`, [by]);
const left = async () =>
  (await here.database.query<{ principal: string }>(`select principal from connections order by 1`, [])).map(
    ({ principal }) => principal,
  );

verifies(
  'connections.unused',
  'kept for a while, and as long as the server comes back; then forgotten and revoked',
  async () => {
    await here.connect('ada');
    await here.connect('bob');
    await sweep();
    const server = world.servers.get('protected')!;
    world.servers.delete('protected');
    await sweep();
    await age('29 days');
    world.servers.set('protected', server);
    await sweep();
    world.servers.delete('protected');
    await sweep();
    await age('29 days');
    await sweep();
    expect([await left(), world.issuer.countOf('/revoke')]).toEqual([['ada', 'bob'], 0]);
    await age('2 days');
    await sweep();
    expect([await left(), world.issuer.countOf('/revoke')]).toEqual([[], 2]);
    const audit = `select principal, state, request_id from audit_events where kind = 'connection' and state = 'disconnected' order by 1`;
    expect(await here.database.query(audit, [])).toEqual([
      { principal: 'ada', state: 'disconnected', request_id: '' },
      { principal: 'bob', state: 'disconnected', request_id: '' },
    ]);
  },
);
