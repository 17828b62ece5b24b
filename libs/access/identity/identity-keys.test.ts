// The keys of statements on a real database, with their ages as a clock that goes on would make them.
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterEach, beforeEach, expect } from 'vitest';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import { StatementMint } from './caller-statement.js';
import { IdentityKeys } from './identity-keys.js';

const issuer = 'https://tools.example.com';
const audience = 'https://crm.example.com/mcp';
let made: TestDatabase;
let database: Database;

beforeEach(async () => {
  made = await createMigratedDatabase();
  database = openDatabase({ url: made.url, poolSize: 4, timeoutMs: 10_000, applicationName: 'test' });
});
afterEach(async () => {
  await database?.close();
  await made?.drop();
});

/** Of a process that has just started. */
const state = (principal = 'alice') =>
  new StatementMint({ keys: new IdentityKeys(database), issuer }).state({ principal, roles: ['dev'] }, audience);
const published = () => new IdentityKeys(database).toPublish();
const signerOf = (statement: string) => decodeProtectedHeader(statement).kid;
const age = (by: string) => database.query(`update identity_keys set made_at = made_at - $1::interval`, [by]);

verifies('identity.keys', 'one key for all processes, of which only the public half is published', async () => {
  const keys = await published();
  expect(keys).toEqual([
    {
      kty: 'EC',
      crv: 'P-256',
      alg: 'ES256',
      use: 'sig',
      kid: expect.any(String) as string,
      x: expect.any(String) as string,
      y: expect.any(String) as string,
    },
  ]);
  const statements = await Promise.all(['alice', 'bob', ''].map((principal) => state(principal)));
  expect(new Set(statements.map(signerOf))).toEqual(new Set([keys[0]!.kid]));
  const verified = await Promise.all(
    statements.map((each) => jwtVerify(each, createLocalJWKSet({ keys }), { issuer, audience })),
  );
  expect(verified.map(({ payload }) => payload.sub)).toEqual(['alice', 'bob', issuer]);
  const [{ payload }] = verified as [(typeof verified)[0]];
  expect(payload.exp! - payload.iat!).toBe(60);
  expect(new Set(verified.map((each) => each.payload.jti)).size).toBe(3);
  const other = await jwtVerify(statements[0]!, createLocalJWKSet({ keys }), { audience: issuer }).catch(
    () => 'refused',
  );
  expect(other).toBe('refused');
});

verifies('identity.keys', 'a new key is published for an hour before it signs, an old one after it did', async () => {
  const first = signerOf(await state());
  await age('6 days');
  expect(signerOf(await state())).toBe(first);
  await age('1 day');
  const second = (await published()).map(({ kid }) => kid).find((kid) => kid !== first);
  expect(second).toBeDefined();
  expect(signerOf(await state())).toBe(first);
  await age('61 minutes');
  expect(signerOf(await state())).toBe(second);
  expect(await published()).toHaveLength(2);
  await age('2 days');
  await published();
  expect((await published()).map(({ kid }) => kid)).toEqual([second]);
});

verifies('identity.keys', 'after a long rest the first statement is signed by a new key', async () => {
  const first = signerOf(await state());
  await age('30 days');
  expect(signerOf(await state())).not.toBe(first);
  expect((await published()).map(({ kid }) => kid)).not.toContain(first);
});
