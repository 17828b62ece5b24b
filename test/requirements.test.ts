import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { suitesOnRedis } from './redis/suites-on-redis.js';
import { requirements } from './requirements.js';

function testFiles(): string[] {
  return ['apps', 'libs', 'scripts', 'test'].flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((path) => /(?:\.test|-conformance)\.ts$/.test(path))
      .map((path) => join(root, path)),
  );
}

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
