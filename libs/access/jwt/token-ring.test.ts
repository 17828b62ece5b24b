// Tokens of a real issuer over HTTP: which are accepted, which are refused, and which requests the issuer gets.
import type { JWTPayload } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type LogFields, silentLogger } from '#libs/logging/logger.js';
import { audience, startTokenIssuer, type TokenIssuer } from '../../../test/support/token-issuer.js';
import { verifies } from '../../../test/verifies.js';
import { accessOf, type JwtSettings } from './read-claims.js';
import { TokenRing } from './token-ring.js';

const seconds = () => Math.floor(Date.now() / 1_000);
let issuer: TokenIssuer;
beforeAll(async () => {
  issuer = await startTokenIssuer();
});
afterAll(() => issuer.stop());

/** Only the clocks, which a test moves; timers and the network are real. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
afterEach(() => void vi.useRealTimers());

function openRing(of: TokenIssuer = issuer, more: Partial<JwtSettings> = {}): TokenRing {
  const settings = { issuer: of.url, audience, roles_claim: 'roles', scopes_claim: 'scope', ...more };
  return new TokenRing({ settings, logger: silentLogger });
}

describe('a token', () => {
  test('is verified once, then remembered', async () => {
    const ring = openRing();
    const token = await issuer.token({ claims: { roles: ['dev'] } });
    expect(ring.hasForm(token)).toBe(true);
    expect(ring.isRemembered(token)).toBe(false);
    const signIn = await ring.signIn(token);
    expect(signIn).toEqual({
      caller: {
        principal: 'alice',
        keyId: undefined,
        parentCall: undefined,
        access: { roles: ['dev'], scopes: ['chat', 'tools', 'files'], tools: {}, limits: {} },
      },
    });
    expect(ring.signIn(token)).toBe(signIn);
    vi.advanceTimersByTime(61_000);
    expect(ring.isRemembered(token)).toBe(true);
    expect(ring.signIn(token)).toBeInstanceOf(Promise);
    expect(await ring.signIn(token)).toEqual(signIn);
    const other = await ring.signIn(await issuer.token({ claims: { sub: 'bob', roles: ['dev'] } }));
    expect('caller' in other && 'caller' in signIn && other.caller.access === signIn.caller.access).toBe(true);
  });

  verifies('access.token-refused', 'wrong audience, issuer, time, algorithm, signature, subject, kind', async () => {
    const ring = openRing();
    const good = await issuer.token();
    const [header, payload, signature] = good.split('.') as [string, string, string];
    const changed = Buffer.from(payload, 'base64url').toString().replace('alice', 'admin');
    const other = await startTokenIssuer();
    const cases: [string, string, object][] = [
      [
        'audience',
        await issuer.token({ claims: { aud: 'another' } }),
        { reason: 'token_audience', principal: 'alice' },
      ],
      ['no audience', await issuer.token({ claims: { aud: undefined } }), { reason: 'token_audience' }],
      ['issuer', await issuer.token({ claims: { iss: other.url } }), { reason: 'token_issuer' }],
      [
        'expired',
        await issuer.token({ claims: { exp: seconds() - 40 } }),
        { reason: 'token_expired', principal: 'alice' },
      ],
      ['never expires', await issuer.token({ claims: { exp: undefined } }), { reason: 'token_invalid' }],
      ['not yet', await issuer.token({ claims: { nbf: seconds() + 90 } }), { reason: 'token_not_yet_valid' }],
      ['none', issuer.unsignedToken(), { reason: 'token_invalid' }],
      ['None', issuer.unsignedToken('None'), { reason: 'token_invalid' }],
      ['unsigned', issuer.unsignedToken('RS256'), { reason: 'token_invalid' }],
      ['public key as secret', await issuer.confusedToken(), { reason: 'token_invalid' }],
      ['changed', `${header}.${Buffer.from(changed).toString('base64url')}.${signature}`, { reason: 'token_invalid' }],
      ['without signature', `${header}.${payload}.`, { reason: 'token_invalid' }],
      ['key of another', await other.token({ claims: { iss: issuer.url } }), { reason: 'token_invalid' }],
      ['unknown key', await issuer.token({ header: { kid: 'nobody' } }), { reason: 'token_invalid' }],
      ['local', await issuer.token({ claims: { sub: 'local' } }), { reason: 'token_invalid' }],
      ['spaces', await issuer.token({ claims: { sub: 'a b' } }), { reason: 'token_invalid' }],
      ['no subject', await issuer.token({ claims: { sub: undefined } }), { reason: 'token_invalid' }],
      ['a number', await issuer.token({ claims: { sub: 7 as never } }), { reason: 'token_invalid' }],
      ['logout', await issuer.token({ header: { typ: 'logout+jwt' } }), { reason: 'token_invalid' }],
      ['no JSON', `eyJ.eyJ.eyJ`, { reason: 'token_invalid' }],
    ];
    await other.stop();
    for (const [name, token, failure] of cases) {
      expect(ring.hasForm(token), name).toBe(true);
      const signIn = await ring.signIn(token);
      expect({ name, ...signIn }).toMatchObject({ name, ...failure });
      expect(signIn).not.toHaveProperty('caller');
      expect(ring.isRemembered(token)).toBe(false);
    }
    for (const claims of [{ exp: seconds() - 10 }, { nbf: seconds() + 10 }, { aud: ['x', audience] }]) {
      expect(await ring.signIn(await issuer.token({ claims }))).toHaveProperty('caller');
    }
    for (const typ of ['JWT', 'at+jwt', 'application/at+jwt']) {
      expect(await ring.signIn(await issuer.token({ header: { typ } }))).toHaveProperty('caller');
    }
  });

  test('ends with its time, though it is remembered', async () => {
    const ring = openRing();
    const token = await issuer.token({ claims: { exp: seconds() + 5 } });
    expect(await ring.signIn(token)).toHaveProperty('caller');
    vi.advanceTimersByTime(36_000);
    expect(await ring.signIn(token)).toMatchObject({ reason: 'token_expired' });
    expect(ring.isRemembered(token)).toBe(false);
  });
});

describe('the issuer', () => {
  verifies('access.token-keys', 'a new key is asked for once, invented ones are not', async () => {
    const own = await startTokenIssuer();
    const ring = openRing(own);
    const old = await own.token();
    expect(await ring.signIn(old)).toHaveProperty('caller');
    expect(own.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
    await own.rotate({ keepOld: true });
    const fresh = await own.token();
    vi.advanceTimersByTime(11_000);
    expect(
      await Promise.all([ring.signIn(fresh), ring.signIn(await own.token({ claims: { sub: 'bob' } }))]),
    ).toMatchObject([{ caller: { principal: 'alice' } }, { caller: { principal: 'bob' } }]);
    expect(own.asked).toHaveLength(4);
    for (let n = 0; n < 50; n++) {
      expect(await ring.signIn(await own.token({ header: { kid: `invented-${n}` } }))).toMatchObject({
        reason: 'token_invalid',
      });
    }
    expect(own.asked).toHaveLength(4);
    // The key was withdrawn: the next background refresh drops it.
    await own.rotate({ alg: 'EdDSA' });
    vi.advanceTimersByTime(11 * 60_000);
    expect(await ring.signIn(await own.token({ claims: { sub: 'carol' } }))).toMatchObject({
      caller: { principal: 'carol' },
    });
    for (const each of [old, fresh]) expect(await ring.signIn(each)).toMatchObject({ reason: 'token_invalid' });
    await own.stop();
  });

  verifies('access.issuer-away', 'known keys go on; what cannot be verified is 503, not 401', async () => {
    const own = await startTokenIssuer();
    const [known, unseen] = [openRing(own), openRing(own)];
    const token = await own.token({ claims: { exp: seconds() + 86_400 * 3 } });
    expect(await known.signIn(token)).toHaveProperty('caller');
    const foreign = await own.token({ header: { kid: 'new' } });
    const another = await own.token({ claims: { sub: 'bob' } });
    await own.stop();
    const away = { code: 'issuer_unavailable', http: 503, retryAfterSeconds: 2 };
    await expect(unseen.signIn(token)).rejects.toMatchObject(away);
    vi.advanceTimersByTime(5 * 60_000);
    expect(await known.signIn(another)).toHaveProperty('caller');
    await expect(known.signIn(foreign)).rejects.toMatchObject(away);
    vi.advanceTimersByTime(15 * 60_000);
    expect(await known.signIn(token)).toHaveProperty('caller');
    vi.advanceTimersByTime(25 * 3_600_000);
    await expect(known.signIn(token)).rejects.toMatchObject(away);
  });

  verifies('access.issuer-away', 'the log names its address, and why', async () => {
    const own = await startTokenIssuer();
    await own.stop();
    const lines: [LogFields, string][] = [];
    const logger = { ...silentLogger, warn: (...line: [LogFields, string]) => void lines.push(line) };
    const settings = { issuer: own.url, audience };
    await expect(new TokenRing({ settings, logger }).signIn(await own.token())).rejects.toMatchObject({
      code: 'issuer_unavailable',
    });
    const discovery = `${own.url}/.well-known/openid-configuration`;
    const message = `${discovery} cannot be reached: nothing listens there (ECONNREFUSED)`;
    expect(lines).toMatchObject([[{ error: { message }, metadata: { issuer: own.url } }, expect.any(String)]]);
  });

  test('that answers with something else is away', async () => {
    const own = await startTokenIssuer();
    const token = await own.token();
    for (const [status, body] of [
      [500, '{}'],
      [200, 'no JSON'],
      [200, '{}'],
      [200, JSON.stringify({ issuer: 'https://other.example', jwks_uri: `${own.url}/keys` })],
      [200, JSON.stringify({ issuer: own.url })],
      [200, JSON.stringify({ filling: 'x'.repeat(2 * 1024 * 1024) })],
      [302, ''],
    ] as const) {
      own.broken = { status, body };
      await expect(openRing(own).signIn(token)).rejects.toMatchObject({ code: 'issuer_unavailable' });
    }
    const ring = openRing(own);
    await expect(ring.signIn(token)).rejects.toMatchObject({ code: 'issuer_unavailable' });
    own.broken = undefined;
    const asked = own.asked.length;
    await expect(ring.signIn(token)).rejects.toMatchObject({ code: 'issuer_unavailable' });
    expect(own.asked).toHaveLength(asked);
    vi.advanceTimersByTime(3_000);
    expect(await ring.signIn(token)).toHaveProperty('caller');
    await own.stop();
  });

  test('needs no discovery where its keys are configured', async () => {
    const own = await startTokenIssuer();
    const ring = openRing(own, { jwks_url: `${own.url}/keys` });
    expect(await ring.signIn(await own.token())).toHaveProperty('caller');
    expect(own.asked).toEqual(['/keys']);
    await own.stop();
  });
});

verifies('access.token-claims', 'roles and scopes of a token', () => {
  const settings = { roles_claim: 'roles', scopes_claim: 'scope' };
  const scopes = (claims: JWTPayload, more = {}) => accessOf(claims, { ...settings, ...more }).scopes;
  const everyday = ['chat', 'tools', 'files'];
  expect(scopes({})).toEqual(everyday);
  expect(scopes({ scope: 'openid profile' })).toEqual(everyday);
  expect(scopes({ scope: 'openid chat' })).toEqual(['chat']);
  expect(scopes({ scp: ['files', 'tools'] }, { scopes_claim: 'scp' })).toEqual(['tools', 'files']);
  expect(scopes({ scope: 'admin', roles: ['admin'] })).toEqual(everyday);
  expect(scopes({ scope: 'chat sb:admin' }, { admin_scope: 'sb:admin' })).toEqual(['chat', 'admin']);
  expect(scopes({ scope: 'sb:admin' }, { admin_scope: 'sb:admin' })).toEqual(['admin']);
  expect(scopes({ roles: ['ops'] }, { admin_role: 'ops' })).toEqual([...everyday, 'admin']);
  const roles = (claims: JWTPayload, name: string) => accessOf(claims, { ...settings, roles_claim: name }).roles;
  expect(roles({ realm_access: { roles: ['b', 'a', 'a', 1] } }, 'realm_access.roles')).toEqual(['a', 'b']);
  expect(roles({ 'https://example.com/roles': ['a'] }, 'https://example.com/roles')).toEqual(['a']);
  expect(roles({ roles: 'a b' }, 'roles')).toEqual(['a', 'b']);
  for (const name of ['__proto__.roles', 'constructor.name', 'toString'])
    expect(roles({ roles: {} }, name)).toEqual([]);
});
