// Compiles the launcher of tool servers (apps/worker/sandbox/launcher) where this is Linux and a C compiler is there; a part
// of `npm run build`, and by itself for a package that another kind of machine has packed. Without a compiler the build goes on,
// and the worker says at its start what is missing.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = dirname(import.meta.dirname);
const sources = join(root, 'apps/worker/sandbox/launcher');
const target = join(root, `dist/launcher-${process.arch}`);
const files = readdirSync(sources).filter((name) => name.endsWith('.c'));
const flags = ['-std=gnu11', '-O2', '-Wall', '-Wextra', '-fstack-protector-strong', '-D_FORTIFY_SOURCE=2'];

function compile(compiler, more) {
  const words = [...flags, ...more, '-o', `${target}.new`, ...files.map((name) => join(sources, name))];
  return spawnSync(compiler, words, { encoding: 'utf8' });
}

if (process.platform === 'linux') {
  mkdirSync(dirname(target), { recursive: true });
  const compilers = process.env.CC ? [process.env.CC] : ['cc', 'gcc', 'clang'];
  const compiler = compilers.find((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0);
  if (compiler === undefined) {
    console.error('No C compiler: command servers cannot be confined. Install one and run scripts/build-launcher.mjs.');
  } else {
    // Static where the C library can be linked so: one file that runs in any namespace.
    let result = compile(compiler, ['-static']);
    if (result.status !== 0) result = compile(compiler, []);
    if (result.status === 0) {
      if (result.stderr !== '') console.error(result.stderr.trim());
      renameSync(`${target}.new`, target);
    } else {
      rmSync(`${target}.new`, { force: true });
      console.error(`The launcher of tool servers was not built:\n${result.stderr.trim()}`);
    }
  }
}
