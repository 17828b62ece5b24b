// What is sealed opens for its owner only, under any of the keys.
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { verifies } from '../../test/verifies.js';
import { openVault, Vault } from './vault.js';
import { readVaultKeys } from './vault-keys.js';

const [first, second] = [randomBytes(32), randomBytes(32)];
const owner = ['connection', 'alice', 'github', 'https://issuer.example'];

verifies('connections.sealed', 'a value opens for its own principal, server and issuer only', () => {
  const vault = new Vault([first]);
  const sealed = vault.seal({ accessToken: 'canary-token' }, owner);
  expect(vault.open(sealed, owner)).toEqual({ accessToken: 'canary-token' });
  expect(sealed).not.toContain('canary');
  expect(vault.seal('same', owner)).not.toBe(vault.seal('same', owner));
  for (let part = 1; part < owner.length; part += 1) {
    expect(() => vault.open(sealed, owner.with(part, 'mallory'))).toThrow('does not open');
  }
  const changed = `${sealed.slice(0, -2)}${sealed.endsWith('AA') ? 'BB' : 'AA'}`;
  expect(() => vault.open(changed, owner)).toThrow('does not open');
  expect(() => vault.open(sealed.slice(0, 12), owner)).toThrow('does not open');
});

verifies('connections.sealed', 'the first key seals, the others still open', () => {
  const old = new Vault([first]).seal('old', owner);
  const both = new Vault([second, first]);
  expect(both.open(old, owner)).toBe('old');
  expect(both.isCurrent(old)).toBe(false);
  const now = both.seal('new', owner);
  expect(both.isCurrent(now)).toBe(true);
  expect(new Vault([second]).open(now, owner)).toBe('new');
  expect(() => new Vault([second]).open(old, owner)).toThrow('a key that is not configured');
});

test.each([
  ['a key', first.toString('base64'), 1],
  ['several, by commas and lines', `${first.toString('base64')},\n${second.toString('base64')}\n`, 2],
  ['too short', randomBytes(16).toString('base64'), undefined],
  ['one of them no key', `${first.toString('base64')},secret`, undefined],
  ['nothing', ' ', undefined],
])('keys are read: %s', (_, text, count) => {
  expect(readVaultKeys(text)?.length).toBe(count);
});

const read = (server: object, environment: Record<string, string> = {}) =>
  readConfig({ environment, file: { path: 'signalbox.yaml', text: JSON.stringify({ mcpServers: { hub: server } }) } });
const url = 'https://hub.example/mcp';

verifies('connections.settings', 'without a key the start says how to make one', () => {
  const config = read({ url, auth: { kind: 'oauth' } });
  expect(() => openVault(config)).toThrow(/mcpServers\.hub\.auth: needs a vault key.*openssl rand -base64 32/);
  expect(openVault(read({ url }))).toBeUndefined();
  expect(openVault(read({ url, enabled: false, auth: { kind: 'oauth' } }))).toBeUndefined();
  const VAULT_KEY = first.toString('base64');
  expect(openVault(read({ url, auth: { kind: 'oauth' } }, { VAULT_KEY }))).toBeInstanceOf(Vault);
  expect(JSON.stringify(read({ url }, { VAULT_KEY }))).not.toContain(VAULT_KEY);
  expect(() => read({ url }, { VAULT_KEY: 'short' })).toThrow('openssl rand -base64 32');
});

const refusals: [string, object, string][] = [
  ['no url', { command: 'node', auth: { kind: 'oauth' } }, 'has auth but no url'],
  ['no secret', { url, auth: { kind: 'client_credentials', client_id: 'us' } }, 'needs client_secret'],
  ['no names', { url, auth: { kind: 'headers', names: [] } }, 'needs names'],
  ['a member of another kind', { url, auth: { kind: 'headers', names: ['x-key'], issuer: url } }, 'has no issuer'],
  ['a header of the protocol', { url, auth: { kind: 'headers', names: ['mcp-session-id'] } }, 'cannot send the header'],
  ['a header twice', { url, headers: { Authorization: '${TOKEN}' }, auth: { kind: 'oauth' } }, 'twice'],
  [
    'ID-JAG without a client',
    { url, auth: { kind: 'token_exchange', id_jag: true } },
    'needs client_id and server_client_id',
  ],
  ['exchange without an issuer', { url, auth: { kind: 'token_exchange' } }, 'set auth.jwt'],
  ['an unknown kind', { url, auth: { kind: 'magic' } }, 'oauth | client_credentials | token_exchange | headers'],
];
verifies('connections.settings', 'settings that do not go together', () => {
  for (const [what, server, message] of refusals) {
    expect(() => read(server, { TOKEN: 'token-of-nobody' }), what).toThrow(message);
  }
});
