import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { Vault } from '#libs/connections/vault.js';
import { verifies } from '../../../../test/verifies.js';
import { FlowCookies } from './flow-cookies.js';
import { readReturnTo } from './return-address.js';

const vault = new Vault([randomBytes(32)]);
const id = 'flow_0190b6a0-0000-7000-8000-00000000abcd';

verifies('connections.browser-bound', 'the cookie is of one sign-in, made by this gateway, and below its path', () => {
  const cookies = new FlowCookies(vault, 'https://example.com/tools');
  const made = cookies.of(id);
  expect(made).toMatch(/; Path=\/tools\/connections; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/);
  const pair = made.split(';')[0]!;
  expect(cookies.has(id, `a=b; ${pair}`)).toBe(true);
  expect(new FlowCookies(vault, 'https://example.com').has(id, pair)).toBe(true);
  for (const header of [undefined, '', 'a=b', `${pair}x`, pair.replace(/=.*/, '=x'), pair.split('=')[0]])
    expect(cookies.has(id, header)).toBe(false);
  // Its name alone could be that of another one.
  expect(cookies.has(id.replace('0190b6a0', '0190b6a1'), pair)).toBe(false);
  expect(new FlowCookies(new Vault([randomBytes(32)]), 'https://example.com').has(id, pair)).toBe(false);
  expect(cookies.openAnswer(pair.split('=')[1]!)).toBeUndefined();
});

verifies('connections.return-to', 'behind the path of a proxy', () => {
  const places = { publicUrl: 'https://example.com/tools', origins: ['*', 'https://chat.example'] };
  expect(readReturnTo('/console/chat', places)).toBe('https://example.com/tools/console/chat');
  expect(readReturnTo('https://chat.example/a', places)).toBe('https://chat.example/a');
  for (const bad of ['https://example.com/console', '//console', 'https://evil.example/', '/console/../../x'])
    expect(() => readReturnTo(bad, places), bad).toThrow('return_to');
});
