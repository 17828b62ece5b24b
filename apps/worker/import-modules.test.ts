import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { importModules } from './import-modules.js';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'modules-'));
  await writeFile(join(directory, 'own.mjs'), 'export default class OwnModule {}');
  await writeFile(join(directory, 'other.mjs'), 'export const other = 1;');
  await writeFile(join(directory, 'broken.mjs'), "import './not-there.mjs';");
});
afterAll(() => rm(directory, { recursive: true, force: true }));

verifies('tools.modules-named', 'by path and by URL', async () => {
  const path = join(directory, 'own.mjs');
  const modules = await importModules([path, pathToFileURL(path).href]);
  expect(modules.map(({ name }) => name)).toEqual(['OwnModule', 'OwnModule']);
});

verifies('tools.modules-named', 'what is wrong is named', async () => {
  for (const [file, problem] of [
    ['nothing.mjs', /worker\.modules\[0\].*was not found/],
    ['broken.mjs', /worker\.modules\[0\].*imports something that was not found/],
    ['other.mjs', /worker\.modules\[0\].*no Nest module as its default export/],
  ] as const) {
    await expect(importModules([join(directory, file)])).rejects.toThrow(problem);
  }
});
