import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { verifies } from '../../test/verifies.js';
import { allowsModel, allowsServer, allowsTool, matchesGlob } from './access.js';
import { Toolsets } from '#libs/policy/toolset.js';
import type { Access } from '#libs/schemas/call-context.js';
import { hashOfKey, hasKeyForm, mintKey, presentedKey } from './api-key.js';

const access: Access = { roles: [], scopes: ['chat', 'tools'], tools: {}, limits: {} };

describe('globs', () => {
  test('as a regular expression would match', () => {
    const glob = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '.') });
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.') });
    fc.assert(
      fc.property(glob, text, (pattern, name) => {
        const parts = pattern.split('*').map((part) => part.replaceAll('.', '\\.'));
        expect(matchesGlob(pattern, name)).toBe(new RegExp(`^${parts.join('.*')}$`).test(name));
      }),
      { numRuns: 2_000 },
    );
  });

  test('a server counts if some of its tools may be allowed', () => {
    const may = (tools: Access['tools']) => allowsServer({ ...access, tools }, 'hub');
    for (const allow of [['hub/read'], ['*/read'], ['h*'], ['*'], ['hub/*']])
      expect([allow, may({ allow })]).toEqual([allow, true]);
    for (const allow of [[], ['hub2/*'], ['hub'], ['x*/read']]) expect([allow, may({ allow })]).toEqual([allow, false]);
    for (const deny of [['hub/*'], ['*'], ['hu*']]) expect([deny, may({ deny })]).toEqual([deny, false]);
    for (const deny of [['hub/read'], ['hub/r*'], ['hub2/*'], ['*/x']])
      expect([deny, may({ deny })]).toEqual([deny, true]);
    expect(allowsServer(undefined, 'hub')).toBe(true);
    expect(allowsServer({ ...access, scopes: ['chat'] }, 'hub')).toBe(false);
  });

  verifies('toolsets.keys', 'a set among what is allowed or denied; one that is not there opens nothing', () => {
    const toolsets = new Toolsets({ clerk: ['hub/*', '!hub/delete_*'] });
    const may = (tools: Access['tools'], tool: string) =>
      allowsTool({ ...access, tools, toolsets }, { server: 'hub', tool });
    const each = (tools: Access['tools']) => [may(tools, 'read'), may(tools, 'delete_all')];
    expect(each({ allow: ['@clerk'] })).toEqual([true, false]);
    expect(each({ allow: ['@clerk', 'hub/delete_*'] })).toEqual([true, true]);
    expect(each({ deny: ['@clerk'] })).toEqual([false, true]);
    expect(each({ allow: ['@none'] })).toEqual([false, false]);
    expect(each({ deny: ['@none'] })).toEqual([false, false]);
    expect(allowsTool({ ...access, tools: { allow: ['@clerk'] } }, { server: 'hub', tool: 'read' })).toBe(false);
    const server = (tools: Access['tools'], name: string) => allowsServer({ ...access, tools, toolsets }, name);
    expect([server({ allow: ['@clerk'] }, 'hub'), server({ allow: ['@clerk'] }, 'desk')]).toEqual([true, false]);
    expect([server({ deny: ['@clerk'] }, 'hub'), server({ deny: ['@none'] }, 'hub')]).toEqual([true, false]);
    toolsets.replace({ clerk: ['hub/delete_*'] });
    expect(each({ allow: ['@clerk'] })).toEqual([false, true]);
  });

  verifies('access.globs', 'allow, then deny', () => {
    const limited = { ...access, tools: { allow: ['files/*', 'web/fetch'], deny: ['*/delete_*'] } };
    const may = (server: string, tool: string) => allowsTool(limited, { server, tool });
    expect([may('files', 'read'), may('files', 'delete_all'), may('web', 'fetch'), may('web', 'post')]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(allowsTool({ ...access, scopes: ['chat'] }, { server: 'files', tool: 'read' })).toBe(false);
    expect(allowsTool(undefined, { server: 'files', tool: 'read' })).toBe(true);
    expect(allowsModel({ ...access, models: ['gpt-*'] }, 'gpt-4')).toBe(true);
    expect(allowsModel({ ...access, models: [] }, 'gpt-4')).toBe(false);
    expect(allowsModel(access, 'gpt-4')).toBe(true);
  });
});

describe('keys', () => {
  test('256 bits, found by hash, with a prefix', () => {
    const minted = mintKey();
    expect(hasKeyForm(minted.key)).toBe(true);
    expect(Buffer.from(minted.key.slice(3), 'base64url')).toHaveLength(32);
    expect(minted.hash).toBe(hashOfKey(minted.key));
    expect(minted.key.startsWith(minted.prefix)).toBe(true);
    expect(mintKey().key).not.toBe(minted.key);
  });

  test('where a request shows it', () => {
    expect(presentedKey({ authorization: 'bearer  sb_x ' })).toEqual({ key: 'sb_x', header: 'authorization' });
    expect(presentedKey({ 'x-api-key': 'sb_x' })).toEqual({ key: 'sb_x', header: 'x-api-key' });
    expect(presentedKey({ authorization: 'Basic eA==', 'x-api-key': 'sb_x' })?.key).toBe('');
    expect(presentedKey({})).toBeUndefined();
  });
});
