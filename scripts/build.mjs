// `npm run build`: generates Prisma's client, compiles the sources into dist/, compiles the launcher of tool servers, makes the
// dictionary of the search, and bundles the console. It does what has changed since the last build; without dist/ that is everything.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { hashSources, projects, readStamp, removeStamp, writeStamp } from './sources.mjs';

const root = process.cwd();
const before = readStamp(root);
// Read before anything is made of them: what changes meanwhile is built the next time.
const sources = hashSources(root);
const changed = (part) => before?.[part] !== sources[part];
const shared = changed('client') || changed('shared');
const compiled = shared ? projects : projects.filter(changed);

// What fails half way is not taken for a build.
removeStamp(root);
if (changed('client')) run(process.execPath, ['scripts/generate-prisma.mjs']);
if (compiled.length > 0) run('nest', ['build', ...compiled]);
// The types of what own tools are written with.
if (shared) run(process.execPath, ['node_modules/typescript-7/bin/tsc', '-p', 'libs/mcp-server/tsconfig.types.json']);
if (changed('launcher') || !existsSync(`dist/launcher-${process.arch}`))
  run(process.execPath, ['scripts/build-launcher.mjs']);
if (changed('dictionary') || !existsSync('dist/dictionary.txt'))
  run(process.execPath, ['scripts/build-dictionary.mjs']);
if (changed('console') || !existsSync('dist/console/index.html'))
  run('vite', ['build', '--config', 'apps/console/vite.config.ts', '--logLevel', 'warn']);
writeStamp(root, sources);

function run(program, args) {
  const { status, error } = spawnSync(program, args, {
    stdio: 'inherit',
    shell: process.platform === 'win32' && program !== process.execPath,
  });
  if (error !== undefined) console.error(error.message);
  if (status !== 0) process.exit(status ?? 1);
}
