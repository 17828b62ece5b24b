// Keys of the vault are replaced while processes use it.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { type ConnectedWorld, openConnectedWorld, vaultKey } from '../../test/support/connected-world.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import { rotateVault } from './rotate-vault.js';
import { Vault } from './vault.js';

let testDatabase: TestDatabase;
let world: ConnectedWorld;
beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  world = await openConnectedWorld(testDatabase.url);
});
afterAll(async () => {
  await world?.close();
  await testDatabase?.drop();
});

const signal = () => AbortSignal.timeout(20_000);

verifies('connections.sealed', 'rotated: the first key opens all that the old one has sealed', async () => {
  const old = world.open();
  for (const principal of ['ada', 'bob', 'eve']) await old.connect(principal);
  const { flowId } = await old.flows.begin('ada', 'protected');
  const back = await world.issuer.signIn(await old.flows.open(flowId, signal()));
  await old.database.query(`update connections set sealed = 'gone.' || sealed where principal = 'eve'`, []);
  const next = randomBytes(32);
  const both = new Vault([next, vaultKey]);
  // Three connections, the registered client and the sign-in under way; one has the key of nobody.
  expect(await rotateVault(old.database, both, signal())).toEqual({ sealed: 4, current: 0, unreadable: 1 });
  expect(await rotateVault(old.database, both, signal())).toEqual({ sealed: 0, current: 4, unreadable: 1 });
  const alone = world.open([next]);
  const server = world.servers.get('protected')!;
  for (const principal of ['ada', 'bob'])
    expect(await alone.tokens.credentialFor(principal, server, signal())).toHaveProperty('token');
  const { searchParams } = back;
  const answer = { state: searchParams.get('state')!, code: searchParams.get('code')!, iss: searchParams.get('iss')! };
  expect((await alone.flows.complete(answer, signal())).connection.principal).toBe('ada');
  // One that nobody can read any more is removed all the same.
  expect(await old.flows.revoke({ principal: 'eve', server: 'protected' }, signal())).toBe(true);
  await expect(old.tokens.credentialFor('bob', server, signal())).rejects.toThrow('a key that is not configured');
});
