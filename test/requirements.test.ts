import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
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
