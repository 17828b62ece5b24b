import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { boards } from './boards.js';
import { readBench } from './read-bench.js';
import { readConformance } from './read-conformance.js';
import { readIsolationMatrix } from './read-isolation-matrix.js';
import { readTestReport } from './read-test-report.js';
import { emptyPage, withBoard } from './write-page.js';

const conformance = `
gateway: conformance 0.1.16
  ✓  ping: 1 checks
  –  prompts-list: does not apply, there are no prompts
  ✗  tools-list
       some-check: it differs
  ○  http-header (not scored: it is new)

client: conformance 0.2.0-alpha.12, 2026-07-28
  ✓  initialize: 2 checks; other does not apply, it is none

1 failed.
`;
const isolation = `
| attack | what | confined, root | none, user |
| --- | --- | --- | --- |
| read-key | reads a key | stopped | ESCAPED |
| **files** | escaped of tried | 0 of 12 | 9 of 12 |
| **network** | escaped of tried | 0 of 4 | 4 of 4 |
`;
const bench = `
loop of two calls (load 1.2)
  this                         90 loops/s | p50 10.00 ms | 8.00 × (7.00 to 9.00) bare | ≥ 50/s: met
  this ÷ other proxy           CPU 2.10 × (2.00 to 2.20) | per second 0.50 × (0.40 to 0.60) | p50 1.50 × (1.40 to 1.60) | p99 1.90 × (1.80 to 2.00)
  this ÷ AI SDK with a name that is longer than its column CPU 0.90 × (0.80 to 1.00) | per second 1.10 × (1.00 to 1.20) | p50 0.95 × (0.90 to 1.00) | p99 1.00 × (0.90 to 1.10)
`;
const report = JSON.stringify({
  testResults: [
    {
      name: join(process.cwd(), 'test/e2e/sdk.test.ts'),
      status: 'failed',
      assertionResults: [{ status: 'passed' }, { status: 'failed' }, { status: 'skipped' }],
    },
    { name: join(process.cwd(), 'test/e2e/broken.test.ts'), status: 'failed', assertionResults: [] },
  ],
});

verifies('docs.scoreboard', 'what each command prints', () => {
  expect(readConformance(conformance).slice(2)).toEqual([
    '| gateway: 0.1.16 | 1 | 1 | 1 | 1 |',
    '| client: 0.2.0-alpha.12, 2026-07-28 | 1 | 0 | 0 | 0 |',
    '',
    'Failed, gateway: conformance 0.1.16: `tools-list`.',
  ]);
  expect(readIsolationMatrix(isolation)).toEqual([
    '| level, worker | files | network |',
    '| --- | --- | --- |',
    '| confined, root | 0 of 12 | 0 of 4 |',
    '| none, user | 9 of 12 | 4 of 4 |',
  ]);
  const [, , bare, proxy, sdk] = readBench(bench);
  expect(bare).toBe('| loop of two calls | bare proxy | 8.00 × (7.00 to 9.00) | – | – | – |');
  expect(proxy).toContain(
    '| loop of two calls | other proxy | 2.10 × (2.00 to 2.20) | 0.50 × (0.40 to 0.60) | 1.50 × (1.40 to 1.60) | 1.90 × (1.80 to 2.00) |',
  );
  expect(sdk).toContain('| AI SDK with a name that is longer than its column | 0.90 × (0.80 to 1.00) |');
  expect(readTestReport(report).slice(2)).toEqual([
    '| `test/e2e/broken.test.ts` | 0 | 1 | 0 |',
    '| `test/e2e/sdk.test.ts` | 1 | 1 | 1 |',
    '| all | 1 | 2 | 1 |',
  ]);
});

verifies('docs.scoreboard', 'output without results is an error, never an empty table', () => {
  for (const read of [readConformance, readIsolationMatrix, readBench])
    expect(() => read('npm error: no network')).toThrow();
  expect(() => readConformance('gateway: conformance 0.1.16\n')).toThrow('no scenario was judged');
  expect(() => readTestReport('{"testResults": []}')).toThrow('no test');
});

verifies('docs.scoreboard', 'a part replaces its earlier results, and no other part', () => {
  const origin = {
    command: 'npm run isolation:matrix',
    commit: 'abc',
    isClean: false,
    at: new Date('2026-11-28T21:00:00Z'),
    node: 'v20.1.0',
    status: 1,
  };
  const empty = emptyPage(boards);
  const first = withBoard(empty, 'isolation', { ...origin, lines: ['first'] });
  const second = withBoard(first, 'isolation', { ...origin, lines: ['second'] });
  expect(second).not.toContain('first');
  expect(second).toContain(
    '`npm run isolation:matrix`: commit `abc` with changes, 2026-11-28 21:00 UTC, Node v20.1.0, exit code 1.\n\nsecond',
  );
  expect(second.split('Not run yet.')).toHaveLength(Object.keys(boards).length);
  expect(() => withBoard('# Another page', 'isolation', { ...origin, lines: [] })).toThrow('no place');
});
