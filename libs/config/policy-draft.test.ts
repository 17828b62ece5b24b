import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { readPolicyDraft } from './policy-draft.js';
import { printPolicy } from './printing/print-policy.js';

const problemsOf = (text: string) => {
  const read = readPolicyDraft(text);
  return 'problems' in read ? read.problems : [];
};

verifies('policy.draft-problems', 'all at once, with line and column, and no value of the environment', () => {
  const problems = problemsOf(`default: allow
rules:
  - name: one
    tool: noslash
    effect: deny
  - { name: one, effect: maybe }
  - { name: two, effect: deny, who: me, reason: '\${HOME}' }
`);
  expect(problems.map(({ key, line, column }) => [key, line, column])).toEqual(
    expect.arrayContaining([
      ['rules.0.tool', 4, 5],
      ['rules.1.effect', 6, 18],
      ['rules.2.who', 7, 32],
      ['rules.2.reason', 7, 41],
    ]),
  );
  expect(JSON.stringify(problems)).not.toContain(process.env['HOME'] ?? '/root');
  expect(problemsOf('rules: [')[0]).toMatchObject({ line: 1 });
  expect(problemsOf('policy: { file: other.yaml }')[0]?.message).toContain('cannot be in a draft');
  expect(problemsOf('policy: { rules: [] }\nrules: []')[0]?.message).toContain('move it below policy');
  expect(problemsOf('')).toEqual([]);
});

verifies('policy.shown', 'the text of a policy reads as that policy, alone or below its key', () => {
  const rules = [
    {
      name: 'a',
      tool: 'x/*',
      arguments: [{ path: '$.p', regex: '^\\${x}' }],
      effect: 'deny' as const,
      reason: '${A} # "b"',
    },
  ];
  const policy = { default: 'allow' as const, rules };
  for (const below of [true, false]) expect(readPolicyDraft(printPolicy(policy, below))).toEqual({ policy });
});
