// Sign-ins of waits, and what goes on when a connection is made.
import { afterAll, beforeAll, expect } from 'vitest';
import { type ConnectedWorld, openConnectedWorld, readAnswer } from '../../../test/support/connected-world.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import type { StoppableContext } from '#libs/schemas/call-context.js';
import { Connections } from './user-connections.js';

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

verifies('connections.bound', 'the sign-in of a wait is for whom the wait is, and tells when it is done', async () => {
  const { flows, store, vault } = world.open();
  const connected: string[][] = [];
  const connections = new Connections({
    servers: world.servers,
    flows,
    store,
    vault,
    publicUrl: 'http://127.0.0.1:8000',
    mayUse: () => true,
    onConnected: async (...about) => void connected.push(about),
    waitingFor: async (id) => (id === 'appr_1' ? { principal: 'ada', server: 'protected' } : undefined),
  });
  const signal = AbortSignal.timeout(20_000);
  // Nothing of a caller decides whose it is.
  const context = { principal: 'eve', requestId: 'req_1', ip: '127.0.0.1', signal } as StoppableContext;
  await expect(connections.pending('appr_2')).rejects.toMatchObject({ code: 'not_found' });
  const pending = await connections.pending('appr_1');
  expect(pending).toEqual({ id: 'appr_1', principal: 'ada', server: 'protected', kind: 'oauth' });
  const { flowId, address } = await connections.open(pending, signal);
  expect(await connections.pending(flowId)).toMatchObject({ principal: 'ada', server: 'protected' });
  expect(connected).toEqual([]);
  const answer = readAnswer(await world.issuer.signIn(address));
  expect(await connections.pendingOf(answer.state)).toMatchObject({ id: flowId, principal: 'ada' });
  await connections.complete(answer, context);
  expect(connected).toEqual([['ada', 'protected']]);
});
