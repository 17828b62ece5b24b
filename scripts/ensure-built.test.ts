import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect } from 'vitest';
import { verifies } from '../test/verifies.js';

const entryPoints = [
  'dist/apps/gateway/main.js',
  'dist/apps/worker/main.js',
  'dist/apps/chimech/main.js',
  'dist/scripts/start.js',
];
let root: string;

/** A project whose compiler writes what is missing, leaves alone what is there, and counts its runs. */
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'signalbox-built-'));
  await write('package.json', JSON.stringify({ scripts: { build: 'node scripts/compile.mjs' } }));
  for (const path of ['apps/a.ts', 'libs/postgres/b.ts', 'prisma/schema.prisma', 'package-lock.json']) {
    await write(path, '');
  }
  await write('tsconfig.json', '{}');
  const compile = entryPoints.map((path) => `test -e ${path} || { mkdir -p $(dirname ${path}) && touch ${path}; }`);
  await write('node_modules/.bin/nest', ['#!/bin/sh', ...compile, 'echo built >> builds', ''].join('\n'), 0o755);
  await mkdir(join(root, 'scripts'));
  for (const name of ['ensure-built.mjs', 'entry-points.mjs', 'compile.mjs']) {
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
  for (const path of entryPoints) await utimes(join(root, path), inSeconds(-60), inSeconds(-60));
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
