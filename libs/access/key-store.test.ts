// Keys in a real PostgreSQL, and two gateways that cache them.
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { silentLogger } from '#libs/logging/logger.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import { hashOfKey, mintKey } from './api-key.js';
import type { Backing } from '#libs/backing/backing.js';
import type { Channels } from '#libs/backing/channels.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { KeyRing } from './key-ring.js';
import { KeyStore, type NewKey } from './key-store.js';

const by = { principal: 'root', requestId: 'req_1' };
const alice: NewKey = { owner: 'alice', scopes: ['chat', 'tools'], roles: ['dev'] };
let testDatabase: TestDatabase;
let database: Database;
let backing: Backing;
let channels: Channels;
let store: KeyStore;
beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  database = openDatabase({ url: testDatabase.url, poolSize: 4, timeoutMs: 5_000, applicationName: 'test' });
  store = new KeyStore(database);
  backing = await openBacking({ databaseUrl: testDatabase.url });
  ({ channels } = backing);
});
afterAll(async () => {
  await backing.close();
  await database.close();
  await testDatabase.drop();
});

const openRing = async (mode: 'auto' | 'keys' | 'off' = 'auto') => {
  const ring = new KeyRing({ store, mode, channels, logger: silentLogger });
  await ring.start();
  return ring;
};

verifies('access.first-key', 'auto: from the first key on, though it is revoked', async () => {
  const ring = await openRing();
  expect(ring.required).toBe(false);
  const { stored } = await store.create(alice, by);
  await vi.waitFor(() => expect(ring.required).toBe(true), 1_000);
  await store.revoke(stored.id, by);
  await ring.refresh();
  expect(ring.required).toBe(true);
  await ring.close();
});

verifies('access.first-key', 'a gateway that looks by itself no more is told', async () => {
  const own = await createMigratedDatabase();
  const ofOwn = openDatabase({ url: own.url, poolSize: 2, timeoutMs: 10_000, applicationName: 'test' });
  const ownStore = new KeyStore(ofOwn);
  const parts = { store: ownStore, mode: 'auto', channels, pollMs: 3_600_000, logger: silentLogger } as const;
  const rings = [new KeyRing(parts), new KeyRing(parts)] as const;
  try {
    for (const ring of rings) await ring.start();
    await ownStore.create(alice, by);
    await rings[0].changed();
    expect(rings[0].required).toBe(true);
    await vi.waitFor(() => expect(rings[1].required).toBe(true), 10_000);
  } finally {
    for (const ring of rings) await ring.close();
    await ofOwn.close();
    await own.drop();
  }
});

verifies('access.key-stored-as-hash', 'nothing of the key but its prefix is in the database', async () => {
  const { key, stored } = await store.create(
    { ...alice, models: ['gpt-*'], tools: { deny: ['web/*'] }, limits: { turns: 2 }, budgets: { day_usd: 1.5 } },
    by,
  );
  expect((await store.findByHash([hashOfKey(key)])).get(hashOfKey(key))).toEqual(stored);
  expect(stored).toMatchObject({ owner: 'alice', models: ['gpt-*'], tools: { deny: ['web/*'] }, limits: { turns: 2 } });
  const rows = await database.query<{ row: string }>('select api_keys::text as row from api_keys', []);
  for (const { row } of rows) expect(row).not.toContain(key.slice(stored.prefix.length));
  const audit = await database.query<{ state: string; name: string }>(
    `select state, name from audit_events where kind = 'key_change' and name = $1`,
    [stored.id],
  );
  expect(audit).toEqual([{ state: 'created', name: stored.id }]);
});

verifies('access.revocation', 'two gateways that remember the key', async () => {
  const { key, stored } = await store.create(alice, by);
  const rings = [await openRing(), await openRing()];
  for (const ring of rings) expect(await ring.signIn(key)).toMatchObject({ caller: { keyId: stored.id } });
  for (const ring of rings) expect(ring.signIn(key)).not.toBeInstanceOf(Promise);
  await store.revoke(stored.id, by);
  await vi.waitFor(() => {
    for (const ring of rings) expect(ring.signIn(key)).toMatchObject({ reason: 'revoked' });
  }, 1_000);
  for (const ring of rings) await ring.close();
});

verifies('access.rotation', 'the old key works until its grace is over', async () => {
  const { key, stored } = await store.create(alice, by);
  const ring = await openRing();
  const rotated = await store.rotate(stored.id, 1, by);
  await ring.refresh();
  expect(rotated.stored).toMatchObject({ owner: 'alice', roles: ['dev'], expiresAt: null });
  expect(await ring.signIn(rotated.key)).toMatchObject({ caller: { principal: 'alice' } });
  expect(await ring.signIn(key)).toMatchObject({
    caller: { keyId: stored.id, access: { replacedBy: rotated.stored.id } },
  });
  await vi.waitFor(() => expect(ring.signIn(key)).toMatchObject({ reason: 'expired' }), 2_000);
  await expect(store.rotate(stored.id, 1, by)).rejects.toMatchObject({ code: 'not_found' });
  await ring.close();
});

test('last use is written, a later one stays; unknown keys are asked for once at a time', async () => {
  const { key, stored } = await store.create(alice, by);
  const ring = await openRing();
  const [one, two] = [ring.signIn(key), ring.signIn(key)];
  expect(one).toBe(two);
  await one;
  await ring.close();
  const [first] = await store.list({ limit: 1 });
  expect(first).toMatchObject({ id: stored.id });
  expect(Date.now() - first!.lastUsedAt!.getTime()).toBeLessThan(10_000);
  await store.noteUse([{ id: stored.id, at: new Date(0) }]);
  expect((await store.list({ limit: 1 }))[0]!.lastUsedAt).toEqual(first!.lastUsedAt);
  expect((await store.list({ limit: 1, after: stored.id }))[0]!.id).not.toBe(stored.id);
});

test('a lookup that read before a revocation is not remembered', async () => {
  const { key, stored } = await store.create(alice, by);
  const slow = {
    revision: () => store.revision(),
    inForce: (id: string) => store.inForce(id),
    noteUse: (uses: Parameters<KeyStore['noteUse']>[0]) => store.noteUse(uses),
    async findByHash(hashes: readonly string[]) {
      const found = await store.findByHash(hashes);
      await pause(first-- > 0 ? 300 : 0);
      return found;
    },
  };
  let first = 1;
  const ring = new KeyRing({ store: slow, mode: 'auto', channels, logger: silentLogger });
  await ring.refresh();
  const signIn = ring.signIn(key);
  await pause(150);
  await store.revoke(stored.id, by);
  await ring.refresh();
  expect(await signIn).toMatchObject({ reason: 'revoked' });
});

verifies('access.database-away', 'remembered keys go on, others are no 401', async () => {
  const own = openDatabase({ url: testDatabase.url, poolSize: 2, timeoutMs: 5_000, applicationName: 'away' });
  const { key } = await store.create(alice, by);
  const ring = new KeyRing({ store: new KeyStore(own), mode: 'auto', channels, logger: silentLogger });
  await ring.start();
  await ring.signIn(key);
  await own.close();
  await expect(ring.refresh()).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(ring.signIn(key)).toMatchObject({ caller: { principal: 'alice' } });
  await expect(ring.signIn(mintKey().key)).rejects.toMatchObject({ code: 'store_unavailable' });
  await ring.close();
});
