import { describe, expect } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject } from '#libs/schemas/json.js';
import { local, policyOf, toolNamed } from '../../test/support/policies.js';
import { verifies } from '../../test/verifies.js';
import type { JudgedTool } from './decision.js';

const byOrigin: [string, object | undefined, Partial<JudgedTool>, string][] = [
  ['a builtin', undefined, { isolation: 'builtin' }, 'allow default:builtin'],
  ['that reaches out', undefined, { isolation: 'builtin', annotations: { openWorldHint: true } }, 'require_approval'],
  [
    'that reaches out to read',
    undefined,
    { isolation: 'builtin', readOnly: true, annotations: { openWorldHint: true } },
    'allow',
  ],
  [
    'that reaches out to models as its caller',
    undefined,
    { isolation: 'builtin', actsForCaller: true, annotations: { openWorldHint: true, destructiveHint: false } },
    'allow default:acts-for-caller',
  ],
  [
    'that acts for its caller and may destroy',
    undefined,
    { isolation: 'builtin', actsForCaller: true, annotations: { openWorldHint: true } },
    'require_approval default:builtin-open-world',
  ],
  [
    'an address that acts for its caller, trusted',
    { url: 'http://a/', trusted: true },
    { isolation: 'remote', actsForCaller: true, annotations: { destructiveHint: false } },
    'allow default:acts-for-caller',
  ],
  [
    'an address that acts for its caller, not trusted',
    { url: 'http://a/' },
    { isolation: 'remote', actsForCaller: true, annotations: { destructiveHint: false } },
    'require_approval default:remote',
  ],
  ['a confined command', { command: 'x' }, { isolation: 'confined' }, 'allow default:confined'],
  ['above the minimum', { command: 'x' }, { isolation: 'namespace' }, 'allow default:confined'],
  ['below the minimum', { command: 'x' }, { isolation: 'process' }, 'require_approval default:isolation'],
  ['of unknown isolation', { command: 'x' }, {}, 'require_approval default:isolation'],
  ['network full', { command: 'x', network: 'full' }, { isolation: 'confined' }, 'require_approval default:network'],
  ['hosts', { command: 'x', network: { allow: ['a.b'] } }, { isolation: 'confined' }, 'require_approval'],
  ['network, trusted to read', { command: 'x', network: 'full' }, { isolation: 'confined', readOnly: true }, 'allow'],
  ['an address', { url: 'http://a/' }, { isolation: 'remote' }, 'require_approval default:remote'],
  [
    'an address that says it only reads, and is not trusted',
    { url: 'http://a/' },
    { isolation: 'remote', annotations: { readOnlyHint: true } },
    'require_approval',
  ],
  ['an address, trusted to read', { url: 'http://a/' }, { isolation: 'remote', readOnly: true }, 'allow'],
  ['an API', { openapi: 'a.yaml' }, { isolation: 'remote' }, 'require_approval default:remote'],
  ['an API, trusted to read', { openapi: 'a.yaml' }, { isolation: 'remote', readOnly: true }, 'allow'],
  ['one that is not configured here', undefined, { isolation: 'confined' }, 'require_approval default:unknown'],
];

describe('no rule matches', () => {
  verifies('policy.default-allow', 'unless it is said otherwise', () => {
    expect(policyOf({}).decide(toolNamed('s', 't'), {}, local)).toEqual({
      effect: 'allow',
      rule: 'default',
    });
  });
  for (const [what, server, tool, expected] of byOrigin) {
    verifies('policy.default-by-origin', what, () => {
      const policy = policyOf({ default: undefined }, server === undefined ? {} : { s: server });
      const { effect, rule } = policy.decide(toolNamed('s', 't', tool), {}, local);
      expect(`${effect} ${rule}`.startsWith(expected)).toBe(true);
    });
  }
});

verifies('policy.default-explained', 'why, and the rule that allows exactly these calls', () => {
  for (const [, server, tool, expected] of byOrigin) {
    const mcpServers = server === undefined ? {} : { s: server };
    const { effect, reason } = policyOf({ default: undefined }, mcpServers).decide(
      toolNamed('s', 't', tool),
      {},
      local,
    );
    expect(reason === undefined).toBe(effect === 'allow');
    if (reason === undefined) continue;
    expect(reason).toMatch(
      /^The default policy asks: (?:the server 's'|`t`) .*\. To allow such calls, add to policy\.rules /,
    );
    const rules: unknown[] = parse(/- \{.*\}$/.exec(reason)![0]);
    const allowing = policyOf({ default: undefined, rules }, mcpServers);
    expect(allowing.decide(toolNamed('s', 't', tool), {}, local)).toEqual({ effect: 'allow', rule: 'allow-t' });
    expect(allowing.decide(toolNamed('s', 'u', tool), {}, local).effect, expected).toBe('require_approval');
  }
  const fetching = {
    isolation: 'builtin' as const,
    annotations: { openWorldHint: true },
    readOnlyWhen: { method: ['GET', 'HEAD'], save_to: [] },
  };
  const said = (args: JsonObject) =>
    policyOf({ default: undefined }).decide(toolNamed('workspace', 'fetch', fetching), args, local).reason;
  expect(said({ url: 'https://a.example/?token=x', method: 'POST', body: 'secret' })).toBe(
    'The default policy asks: `fetch` with method POST reaches beyond the workspace and may change something there. ' +
      'To allow such calls, add to policy.rules in signalbox.yaml: - { name: allow-fetch, tool: workspace/fetch, effect: allow }',
  );
  expect(said({ method: 'GET', save_to: 'a.txt' })).toContain('`fetch` with save_to reaches');
});
