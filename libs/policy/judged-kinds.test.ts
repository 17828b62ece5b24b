import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { verifies } from '../../test/verifies.js';
import { CompiledPolicy } from './compile-policy.js';
import type { JudgedTool } from './decision.js';
import { explain } from './explain.js';
import { judgePastCall, type PastCall } from './judge-past-call.js';

function policyOf(rules: object[], defaults = 'by_origin'): CompiledPolicy {
  const file = { path: 'signalbox.yaml', text: JSON.stringify({ policy: { default: defaults, rules } }) };
  return new CompiledPolicy(readConfig({ environment: {}, file }));
}
const item = (server: string, name: string, kind?: 'resource' | 'prompt'): JudgedTool => ({
  ...(kind === undefined ? {} : { kind }),
  server,
  tool: name,
  readOnly: true,
  annotations: {},
  isolation: 'builtin',
});
const caller = { principal: 'ann' };
const guest = { principal: 'bob', keyId: 'key_1', roles: ['guest'] };

verifies('policy.resources', 'rules for tools, resources and prompts apply to what they name', async () => {
  const policy = policyOf([
    { name: 'plan', resource: 'docs/doc://plans/*', effect: 'deny' },
    { name: 'names', prompt: ['docs/review', 'docs/x*'], effect: 'deny' },
    { name: 'one', tool: 'docs/review', resource: 'docs/doc://one', effect: 'deny' },
    { name: 'guests', role: 'guest', effect: 'deny' },
  ]);
  const ruleOf = (judged: JudgedTool, by: object = caller) => policy.decide(judged, {}, by as typeof caller).rule;
  expect(ruleOf(item('docs', 'doc://plans/a', 'resource'))).toBe('plan');
  expect(ruleOf(item('docs', 'doc://plans/a', 'prompt'))).toBe('default:prompt');
  expect(ruleOf(item('docs', 'doc://plans/a'))).toBe('default:builtin');
  expect(ruleOf(item('docs', 'review', 'prompt'))).toBe('names');
  expect(ruleOf(item('docs', 'xyz', 'prompt'))).toBe('names');
  expect(ruleOf(item('docs', 'review'))).toBe('one');
  expect(ruleOf(item('docs', 'review', 'resource'))).toBe('default:resource');
  expect(ruleOf(item('docs', 'doc://one', 'resource'))).toBe('one');
  // A rule that names nothing is for everything.
  expect(ruleOf(item('docs', 'doc://two', 'resource'), guest)).toBe('guests');
  expect(policy.isDenied(item('docs', 'doc://plans/a', 'resource'), caller)).toBe(true);
  expect(policy.isDenied(item('docs', 'doc://two', 'resource'), caller)).toBe(false);
});

verifies('policy.resources', 'nobody approves a read: what needs an approval is denied', async () => {
  const policy = policyOf([{ name: 'ask', resource: 'docs/*', tool: 'docs/*', effect: 'require_approval' }]);
  const resource = item('docs', 'doc://a', 'resource');
  expect(policy.decide(resource, {}, caller)).toEqual({ effect: 'deny', rule: 'ask' });
  expect(policy.isDenied(resource, caller)).toBe(true);
  expect(policy.decide(item('docs', 'a'), {}, caller).effect).toBe('require_approval');
});

verifies('policy.resources', 'conditions see the URI, and the explanation says what a rule is for', async () => {
  const policy = policyOf([
    {
      name: 'plans',
      resource: 'docs/*',
      arguments: [{ path: '$.uri', prefix: 'doc://plans/' }],
      effect: 'deny',
    },
  ]);
  const decide = (uri: string) => policy.decide(item('docs', uri, 'resource'), { uri }, caller).effect;
  expect([decide('doc://plans/a'), decide('doc://other')]).toEqual(['deny', 'allow']);
  const { tried } = explain(policy, { tool: item('docs', 'a'), args: {}, caller: { principal: 'ann', roles: [] } });
  expect(tried).toEqual([{ rule: 'plans', matched: false, because: 'it is for the resource docs/*', differs: 'tool' }]);
});

verifies('policy.reads-counted', 'a past read is judged by what was read, if the audit has that in full', async () => {
  const read = (kind: PastCall['kind'], args: object, given: Partial<PastCall> = {}): PastCall => {
    const text = JSON.stringify(args);
    const argumentsDigest = createHash('sha256').update(text).digest('hex');
    const row = { principal: 'ann', keyId: null, server: 'docs', errorCode: null, policyRule: null, approvalId: null };
    const tool = kind === 'prompt' ? 'prompts/get' : 'resources/read';
    return { ...row, kind, tool, arguments: text, argumentsDigest, ...given };
  };
  const policy = policyOf([
    { name: 'plans', resource: 'docs/doc://plans/*', effect: 'deny' },
    { name: 'asked', prompt: 'docs/review', effect: 'require_approval' },
  ]);
  const judge = (call: PastCall) => judgePastCall(policy, call, () => undefined);
  expect(judge(read('resource', { uri: 'doc://plans/a' }))).toEqual({
    kind: 'changed',
    was: 'allow',
    now: 'deny',
    rule: 'plans',
  });
  expect(judge(read('resource', { uri: 'doc://other' }))).toEqual({
    kind: 'same',
    now: 'allow',
    rule: 'default:resource',
  });
  const refused = { errorCode: 'tool_denied', policyRule: 'earlier' };
  expect(judge(read('prompt', { name: 'review', arguments: {} }, refused))).toMatchObject({
    kind: 'same',
    now: 'deny',
  });
  expect(judge(read('prompt', { name: 'other' }, refused))).toMatchObject({ kind: 'changed', was: 'refused' });
  expect(judge(read('resource', { uri: 'doc://[redacted]' }, { argumentsDigest: 'x' }))).toMatchObject({
    kind: 'unknown',
  });
  // Nobody had it.
  expect(judge(read('resource', { uri: 'doc://none' }, { server: null, errorCode: 'not_found' }))).toEqual({
    kind: 'undecided',
  });
});
