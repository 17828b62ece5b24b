import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect } from 'vitest';
import { verifies } from '../test/verifies.js';

let root: string;

/** Writes the programs, empty. */
const bundler = `
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
export const rolldown = async ({ input }) => ({
  async write({ dir }) {
    for (const name of Object.keys(input)) {
      mkdirSync(dirname(dir + '/' + name), { recursive: true });
      writeFileSync(dir + '/' + name + '.js', '');
    }
  },
  async close() {},
});
`;

/** A project whose compiler counts its runs. */
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'signalbox-built-'));
  await write('package.json', JSON.stringify({ scripts: { build: 'node scripts/compile.mjs' } }));
  for (const path of ['apps/a.ts', 'libs/postgres/b.ts', 'prisma/schema.prisma', 'package-lock.json']) {
    await write(path, '');
  }
  await write('tsconfig.json', '{}');
  await write('node_modules/.bin/nest', '#!/bin/sh\necho built >> builds\n', 0o755);
  await write('node_modules/rolldown/package.json', JSON.stringify({ type: 'module', exports: './rolldown.js' }));
  await write('node_modules/rolldown/rolldown.js', bundler);
  await mkdir(join(root, 'scripts'));
  for (const name of ['ensure-built.mjs', 'entry-points.mjs', 'compile.mjs', 'bundle.mjs']) {
    await copyFile(fileURLToPath(new URL(name, import.meta.url)), join(root, 'scripts', name));
  }
});

afterEach(() => rm(root, { recursive: true, force: true }));

async function write(path: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(join(root, path, '..'), { recursive: true });
  await writeFile(join(root, path), text, { mode });
}

function ensureBuilt() {
  return spawnSync(process.execPath, [join(root, 'scripts/ensure-built.mjs')], { encoding: 'utf8', cwd: tmpdir() });
}

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000);
const builds = async () => (await readFile(join(root, 'builds'), 'utf8')).trim().split('\n').length;

verifies('operations.start-builds', 'what is missing, then what is older than its sources, and not again', async () => {
  expect(ensureBuilt().stderr).toContain('dist/apps/gateway/main.js is missing');
  expect(ensureBuilt().stderr).toBe('');
  expect(await builds()).toBe(1);
  await utimes(join(root, 'dist/apps/gateway/main.js'), inSeconds(-60), inSeconds(-60));
  expect(ensureBuilt().stderr).toContain('older than its sources');
  expect(ensureBuilt().stderr).toBe('');
  expect(await builds()).toBe(2);
});

verifies('operations.start-builds', 'not where it cannot', async () => {
  expect(ensureBuilt().status).toBe(0);
  await rm(join(root, 'node_modules'), { recursive: true });
  await utimes(join(root, 'libs/postgres/b.ts'), inSeconds(60), inSeconds(60));
  expect(ensureBuilt()).toMatchObject({ status: 0, stderr: expect.stringContaining('starting what was built') });
  await rm(join(root, 'dist'), { recursive: true });
  expect(ensureBuilt()).toMatchObject({ status: 1, stderr: expect.stringContaining('npm ci') });
});
