import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { suitesOnRedis } from './redis/suites-on-redis.js';
import { requirements } from './requirements.js';

function filesIn(roots: readonly string[], name: RegExp): string[] {
  return roots.flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((path) => name.test(path))
      .map((path) => join(root, path)),
  );
}

const testFiles = () => filesIn(['apps', 'libs', 'scripts', 'test'], /(?:\.test|-conformance)\.ts$/);

test('every requirement has a test and every test names a requirement', () => {
  const used = new Set<string>();
  for (const file of testFiles()) {
    for (const match of readFileSync(file, 'utf8').matchAll(/\bverifies\(\s*'([^']+)'/g)) used.add(match[1]!);
  }
  expect([...used].filter((id) => !(id in requirements))).toEqual([]);
  expect(Object.keys(requirements).filter((id) => !used.has(id))).toEqual([]);
});

test('the fault matrix names every suite of faults, and no file that is not there', () => {
  const matrix = readFileSync('docs/fault-matrix.md', 'utf8');
  const named = new Set(Array.from(matrix.matchAll(/`((?:apps|libs|test)\/[^`]+\.ts)`/g), ([, path]) => path!));
  const suites = testFiles().filter((path) => /^test\/(?:faults|redis)\//.test(path));
  expect(suites.filter((path) => !named.has(path))).toEqual([]);
  expect([...named].filter((path) => !existsSync(path))).toEqual([]);
  // ●: on both sets in `npm test`; ○: in `npm run test:faults`.
  const marked = (marks: string) =>
    Array.from(matrix.matchAll(/`(test\/[^`]+)` ([●○])/g))
      .filter(([, , mark]) => marks.includes(mark!))
      .map(([, path]) => path!);
  expect(new Set(marked('●'))).toEqual(new Set(suitesOnRedis('')));
  expect(new Set(marked('●○'))).toEqual(new Set(suitesOnRedis('faults')));
});

test('comments name no document that is not in the repository', () => {
  /** Those that described the product before it was built. */
  const elsewhere = /\((?:chat-api|reliability|providers|governance|operations|tools-and-mcp|bad-inputs)(?:\)|[:;] )/;
  const isComment = /^\s*(?:\/\/|\/?\*)/;
  const files = filesIn(['apps', 'libs', 'bench', 'scripts', 'test'], /\.(?:ts|mjs|cjs|c|h)$/);
  const found = files.flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => isComment.test(line) && elsewhere.test(line))
      .map((line) => `${path}: ${line}`),
  );
  expect(found).toEqual([]);
  expect(files.length).toBeGreaterThan(500);
  const example = '// What it does (reliability: leases).';
  expect(isComment.test(example) && elsewhere.test(example)).toBe(true);
});
