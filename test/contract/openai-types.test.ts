// The client library as `npm pack` makes it, in projects that are compiled in each of the ways that resolve its exports.
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { type TemporaryDirectory, temporaryDirectory } from '../support/services/start-process.js';
import { runProgram } from '../support/run-program.js';
import { verifies } from '../verifies.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
let project: TemporaryDirectory;

beforeAll(async () => {
  project = await temporaryDirectory();
  const inProject = (path: string) => join(project.path, path);
  const checkout = inProject('checkout');
  mkdirSync(join(checkout, 'clients'), { recursive: true });
  cpSync(join(root, 'clients/typescript'), join(checkout, 'clients/typescript'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
  const pack = ['pack', '--silent', join(checkout, 'clients/typescript')];
  expect(await runProgram('npm', pack, { cwd: project.path, timeoutMs: 60_000 })).toMatchObject({ code: 0 });
  const installed = inProject('node_modules/@signalbox/client');
  mkdirSync(installed, { recursive: true });
  const unpack = ['-xzf', 'signalbox-client-0.1.0.tgz', '--strip-components=1', '-C', installed];
  expect(await runProgram('tar', unpack, { cwd: project.path })).toMatchObject({ code: 0 });
  for (const name of ['openai', 'zod'])
    symlinkSync(join(root, 'node_modules', name), inProject(`node_modules/${name}`));
  const used = readFileSync(join(root, 'test/support/openai-types.ts'), 'utf8')
    .replace('../../clients/typescript/src/index.js', '@signalbox/client')
    .replace('../../clients/typescript/src/openai.js', '@signalbox/client/openai');
  for (const type of ['module', 'commonjs']) {
    mkdirSync(inProject(type));
    writeFileSync(inProject(`${type}/package.json`), JSON.stringify({ type }));
    writeFileSync(inProject(`${type}/uses.ts`), used);
  }
}, 90_000);
afterAll(() => project?.remove());

for (const [type, ...settings] of [
  ['module', '--module', 'nodenext'],
  ['module', '--module', 'esnext', '--moduleResolution', 'bundler', '--skipLibCheck'],
  ['commonjs', '--module', 'nodenext', '--skipLibCheck'],
  ['commonjs', '--module', 'commonjs', '--moduleResolution', 'bundler', '--skipLibCheck'],
] as const) {
  verifies('client.openai-types', `${type}, ${settings.join(' ')}`, async () => {
    const compiler = join(root, 'node_modules/typescript-7/bin/tsc');
    const lib = ['--target', 'es2022', '--lib', 'es2022,dom', '--strict', '--noEmit'];
    const compile = [compiler, ...lib, ...settings, `${type}/uses.ts`];
    const end = await runProgram(process.execPath, compile, { cwd: project.path, timeoutMs: 60_000 });
    expect(end).toMatchObject({ code: 0, stdout: '' });
  });
}
