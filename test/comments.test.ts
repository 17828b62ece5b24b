import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** Documents that were read while this was built and are not in the repository. */
const elsewhere = /\((?:chat-api|reliability|providers|governance|operations|tools-and-mcp|bad-inputs)(?:\)|: )/;

test('comments refer to nothing that is not in the repository', async () => {
  const found: string[] = [];
  let files = 0;
  for (const folder of ['apps', 'libs', 'bench', 'scripts', 'test']) {
    for (const path of await sourcesIn(folder)) {
      files += 1;
      const lines = (await readFile(path, 'utf8')).split('\n');
      for (const line of lines)
        if (/^\s*(?:\/\/|\/?\*)/.test(line) && elsewhere.test(line)) found.push(`${path}: ${line}`);
    }
  }
  expect(found).toEqual([]);
  expect(files).toBeGreaterThan(500);
  expect('// What it does (reliability: leases).').toMatch(elsewhere);
});

async function sourcesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.(?:ts|mjs|cjs|c|h)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('prisma-client'));
}
