import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect } from 'vitest';
import { verifies } from '../test/verifies.js';

let root: string;

/** A project whose compiler counts its runs. */
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'signalbox-built-'));
  await write('package.json', JSON.stringify({ scripts: { build: 'node scripts/build.mjs' } }));
  const launcher = 'apps/worker/sandbox/launcher/main.c';
  const page = ['apps/console/page.tsx', 'clients/typescript/src/index.ts', 'libs/audit/secret-names.ts'];
  const sources = [...page, 'apps/gateway/a.ts', 'apps/chimech/c.ts', 'libs/postgres/b.ts', 'prisma/schema.prisma'];
  for (const path of [...sources, launcher, 'prisma.config.ts', 'nest-cli.json']) await write(path, '');
  await write('tsconfig.json', '{}');
  const compiler = '#!/bin/sh\necho "$@" >> builds\nmkdir -p dist/scripts/cli\ntouch dist/scripts/cli/signalbox.js\n';
  await write('node_modules/.bin/nest', compiler, 0o755);
  const bundler = '#!/bin/sh\necho page >> builds\nmkdir -p dist/console\ntouch dist/console/index.html\n';
  await write('node_modules/.bin/vite', bundler, 0o755);
  await write('node_modules/typescript-7/bin/tsc', '');
  await mkdir(join(root, 'scripts'));
  for (const name of ['ensure-built.mjs', 'build.mjs', 'sources.mjs']) {
    await copyFile(fileURLToPath(new URL(name, import.meta.url)), join(root, 'scripts', name));
  }
  await write('scripts/generate-prisma.mjs', '');
  await write('scripts/build-launcher.mjs', '');
  await write('scripts/build-dictionary.mjs', '');
});

afterEach(() => rm(root, { recursive: true, force: true }));

async function write(path: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(join(root, path, '..'), { recursive: true });
  await writeFile(join(root, path), text, { mode });
}

function ensureBuilt() {
  return spawnSync(process.execPath, [join(root, 'scripts/ensure-built.mjs')], { encoding: 'utf8', cwd: tmpdir() });
}

const builds = async () => (await readFile(join(root, 'builds'), 'utf8')).trim().split('\n');

verifies(
  'operations.start-builds',
  'what is missing, then what was made from other sources, and not again',
  async () => {
    expect(ensureBuilt().stderr).toContain('nothing is built');
    expect(ensureBuilt().stderr).toBe('');
    await write('apps/gateway/a.ts', 'changed');
    expect(ensureBuilt().stderr).toContain('apps/gateway has changed');
    expect(ensureBuilt().stderr).toBe('');
    await write('libs/postgres/b.ts', 'changed');
    expect(ensureBuilt().stderr).toContain('libs has changed');
    await write('apps/console/page.tsx', 'changed');
    expect(ensureBuilt().stderr).toContain('apps/console has changed');
    expect(await builds()).toEqual([
      'build gateway worker chimech scripts',
      'page',
      'build gateway',
      'build gateway worker chimech scripts',
      'page',
    ]);
  },
);

verifies('operations.start-builds', 'not what was only touched, nor for a package of a tool server', async () => {
  ensureBuilt();
  await write('apps/gateway/a.ts', '');
  await utimes(join(root, 'libs/postgres/b.ts'), new Date(), new Date(Date.now() + 60_000));
  await write('package-lock.json', '{ "packages": {} }');
  await write('node_modules/a-tool-server/package.json', '{ "version": "1.0.0" }');
  expect(ensureBuilt().stderr).toBe('');
  expect(await builds()).toEqual(['build gateway worker chimech scripts', 'page']);
});

verifies('operations.start-builds', 'not where it cannot', async () => {
  expect(ensureBuilt().status).toBe(0);
  await rm(join(root, 'node_modules/.bin'), { recursive: true });
  await write('libs/postgres/b.ts', 'changed');
  expect(ensureBuilt()).toMatchObject({ status: 0, stderr: expect.stringContaining('starting what was built') });
  await rm(join(root, 'dist'), { recursive: true });
  expect(ensureBuilt()).toMatchObject({ status: 1, stderr: expect.stringContaining('npm ci') });
});
