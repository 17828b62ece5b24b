import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { local, policyOf, toolNamed } from '../../test/support/policies.js';
import { verifies } from '../../test/verifies.js';
import type { JudgedCaller } from './decision.js';
import { explain } from './explain.js';
import { compileToolGlob } from './tool-glob.js';

const problemsOf = (rules: unknown): string => {
  try {
    policyOf({ rules });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

const part = fc.constantFrom('a', 'b', 'ab', '*', 'a*', '*b', 'a*b', '*a*');
const name = fc.constantFrom('a', 'b', 'ab', 'aab', 'ba', 'aba');

/** The same semantics, implemented simply and slowly. */
const asRegExp = (pattern: string) =>
  new RegExp(`^${pattern.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^]*')}$`);

describe('which rule decides', () => {
  verifies('policy.first-match', 'the first in order whose tool, caller and arguments match', () => {
    const who = fc.option(fc.subarray(['alice', 'bob', 'carol'], { minLength: 1 }), { nil: undefined });
    const rule = fc.record({
      tool: fc.option(fc.tuple(part, part), { nil: undefined }),
      user: who,
      value: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }),
      effect: fc.constantFrom('allow', 'deny', 'require_approval'),
    });
    const call = fc.record({
      server: name,
      tool: name,
      principal: fc.constantFrom('alice', 'bob', 'dora'),
      value: fc.integer({ min: 0, max: 2 }),
    });
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 12 }), fc.array(call, { minLength: 1, maxLength: 8 }), (rules, calls) => {
        const policy = policyOf({
          rules: rules.map(({ tool, user, value, effect }, index) => ({
            name: `r${index}`,
            ...(tool && { tool: tool.join('/') }),
            ...(user && { user }),
            ...(value !== undefined && { arguments: [{ path: '$.v', equals: value }] }),
            effect,
          })),
        });
        for (const { server, tool, principal, value } of calls) {
          const matches = ({ tool: glob, user, value: wanted }: (typeof rules)[number]) =>
            (glob === undefined || (asRegExp(glob[0]).test(server) && asRegExp(glob[1]).test(tool))) &&
            (user === undefined || user.includes(principal)) &&
            (wanted === undefined || wanted === value);
          const index = rules.findIndex(matches);
          const expected = index < 0 ? 'default' : `r${index}`;
          const asked = toolNamed(server, tool);
          const caller = { principal, roles: [] };
          const decision = policy.decide(asked, { v: value }, caller);
          expect(decision.rule).toBe(expected);
          expect(explain(policy, { tool: asked, args: { v: value }, caller }).decision).toEqual(decision);
          // A hidden tool is denied for any arguments.
          if (policy.isDenied(asked, caller)) {
            for (const v of [0, 1, 2, '1']) expect(policy.decide(asked, { v }, caller).effect).toBe('deny');
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test('a glob means what the same regular expression means', () => {
    const text = fc.stringMatching(/^[ab.]{0,8}$/);
    fc.assert(
      fc.property(fc.stringMatching(/^[ab.*]{1,8}$/), text, (pattern, tool) => {
        expect(compileToolGlob(`s/${pattern}`).matches('s', tool)).toBe(asRegExp(pattern).test(tool));
      }),
      { numRuns: 2_000 },
    );
    const hostile = compileToolGlob(`s/${'a*'.repeat(400)}b`);
    const start = performance.now();
    expect(hostile.matches('s', 'a'.repeat(100_000))).toBe(false);
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  test('roles, users and keys: each that is named must be the caller’s', () => {
    const policy = policyOf({
      rules: [{ name: 'ops', role: ['ops', 'root'], user: 'alice', key: 'key_1', effect: 'deny' }],
    });
    const effectFor = (caller: JudgedCaller) => policy.decide(toolNamed('s', 't'), {}, caller).effect;
    const alice = { principal: 'alice', keyId: 'key_1' };
    expect(effectFor({ ...alice, roles: ['dev', 'ops'] })).toBe('deny');
    for (const other of [
      alice,
      { ...alice, roles: ['dev'] },
      { ...alice, roles: ['ops'], keyId: 'key_2' },
      { principal: 'alice', roles: ['ops'] },
      { ...alice, principal: 'bob', roles: ['ops'] },
    ]) {
      expect(effectFor(other)).toBe('allow');
    }
  });

  verifies('policy.requires-approval', 'of a server, unless a rule allows the call', () => {
    const files = { command: 'x', tools: { rename: { drop: 'remove' }, requires_approval: ['drop'] } };
    const asked = policyOf({}, { files }).decide(toolNamed('files', 'remove'), {}, local);
    expect(asked).toEqual({ effect: 'require_approval', rule: 'mcpServers.files.tools.requires_approval' });
    const allowed = policyOf({ rules: [{ name: 'ok', tool: 'files/remove', effect: 'allow' }] }, { files });
    expect(allowed.decide(toolNamed('files', 'remove'), {}, local).rule).toBe('ok');
    expect(allowed.decide(toolNamed('files', 'drop'), {}, local).rule).toBe('default');
  });
});

verifies('policy.problems-named', 'all at once, each at its rule', () => {
  const text = problemsOf([
    { name: 'a', tool: 'noslash', effect: 'deny' },
    { name: 'a', arguments: [{ path: '$..x', equals: 1 }], effect: 'deny' },
    { name: 'c', arguments: [{ path: '$.x', regex: '(?=a)' }], effect: 'deny' },
    { name: 'd', arguments: [{ path: '$.x', equals: 1, prefix: 'b' }], effect: 'deny' },
    { name: 'default', effect: 'permit' },
    { name: 'f', rolle: 'x', effect: 'deny' },
  ]);
  for (const key of ['0.tool', '1.arguments.0.path', '2.arguments.0.regex', '3.arguments.0', '4.name', '4.effect']) {
    expect(text).toContain(`policy.rules.${key}:`);
  }
  expect(text).toContain('did you mean policy.rules.5.role?');
});

describe('arguments', () => {
  const holds = (effect: string, condition: object, args: JsonObject): boolean =>
    policyOf({ rules: [{ name: 'r', arguments: [condition], effect }] }).decide(toolNamed('s', 't'), args, local)
      .rule === 'r';

  verifies('policy.arguments-safe-side', 'a path that leads elsewhere is allowed nowhere, and denied there', () => {
    const under = { path: '$.path', prefix: 'tmp/' };
    for (const path of ['tmp/a', 'tmp/a/b..c', 'tmp/…', 'tmp/.../x', 'tmp/%41']) {
      expect([path, holds('allow', under, { path })]).toEqual([path, true]);
    }
    for (const path of [
      'tmp/../etc',
      'tmp/a/../../etc',
      'tmp/..',
      'tmp/%2e%2e/etc',
      'tmp/%2E./etc',
      'tmp\\..\\etc',
      'tmp/..\\etc',
      'tmp/\u0000',
      'tmp/..%2fetc',
      './tmp/a',
      '/tmp/a',
      'tmp',
      'TMP/a',
      'ｔmp/a',
    ]) {
      expect([path, holds('allow', under, { path })]).toEqual([path, false]);
    }
    const secrets = { path: '$.path', prefix: 'secrets/' };
    for (const path of [
      'secrets/a',
      'secrets',
      './secrets/a',
      'tmp/../secrets/a',
      'secrets//a',
      'x/%2e%2e/secrets/a',
      'x\\..\\secrets\\a',
      '/mcp_workspaces/sess_1/secrets/a',
      'secrets/../b/../secrets/x',
    ]) {
      expect([path, holds('deny', secrets, { path })]).toEqual([path, true]);
    }
    for (const path of ['a/secrets', 'secretsx/a', 'secrets2', 'tmp/a']) {
      expect([path, holds('deny', secrets, { path })]).toEqual([path, false]);
    }
  });

  verifies('policy.arguments-safe-side', 'a pattern covers the whole value to allow, any part of it to deny', () => {
    const git = { path: '$.command', regex: 'git status' };
    expect(holds('allow', git, { command: 'git status' })).toBe(true);
    for (const command of ['git status; rm -rf /', 'git status\n', 'x git status'])
      expect([holds('allow', git, { command }), holds('deny', git, { command })]).toEqual([false, true]);
    const remove = { path: '$.command', regex: 'rm.*-rf' };
    expect(holds('deny', remove, { command: 'rm \n -rf' })).toBe(true);
    const composed = { path: '$.name', equals: 'caf\u00e9' };
    expect(holds('deny', composed, { name: 'cafe\u0301' })).toBe(true);
    expect(holds('allow', composed, { name: 'cafe\u0301' })).toBe(false);
  });

  verifies('policy.arguments-typed', 'absent, inherited, of another kind: no match', () => {
    for (const [condition, args] of [
      [{ path: '$.a', equals: 5 }, { a: '5' }],
      [{ path: '$.a', equals: '5' }, { a: 5 }],
      [{ path: '$.a', equals: null }, {}],
      [{ path: '$.a', in: [false] }, { a: 0 }],
      [{ path: '$.a', prefix: 'x' }, { a: ['x'] }],
      [{ path: '$.a', regex: '.*' }, { a: 1 }],
      [{ path: '$.constructor.name', equals: 'Object' }, {}],
      [{ path: '$.a.length', equals: 1 }, { a: ['x'] }],
      [{ path: '$.a[1]', equals: 'x' }, { a: ['x'] }],
      [{ path: "$.a['0']", equals: 'x' }, { a: ['x'] }],
    ] as [object, JsonObject][]) {
      for (const effect of ['allow', 'deny'])
        expect([condition, holds(effect, condition, args)]).toEqual([condition, false]);
    }
    expect(holds('allow', { path: '$.a.b[0]', in: [1, 'x'] }, { a: { b: ['x'] } })).toBe(true);
    expect(holds('allow', { path: "$['odd name'].ключ", equals: null }, { 'odd name': { ключ: null } })).toBe(true);
    // Duplicate names in JSON: the decision and the call both use the last one.
    expect(holds('deny', { path: '$.a', equals: 2 }, JSON.parse('{"a":1,"a":2}') as JsonObject)).toBe(true);
  });

  verifies('policy.patterns-linear', 'no pattern and no value holds the gateway', () => {
    const start = performance.now();
    for (const regex of ['(a+)+$', '(a|aa)+$', '(.*a){20}', '([a-z]+)*!', 'a{0,1000}b']) {
      for (const effect of ['allow', 'deny']) {
        holds(effect, { path: '$.v', regex }, { v: `${'a'.repeat(60_000)}!` });
        // Longer texts are not matched.
        expect(holds(effect, { path: '$.v', regex }, { v: 'a'.repeat(1_000_000) })).toBe(effect === 'deny');
      }
    }
    expect(performance.now() - start).toBeLessThan(20_000);
  });
});
