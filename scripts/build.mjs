// `npm run build`: generates Prisma's client, compiles the sources into build/, bundles what runs into dist/, and compiles the
// launcher of tool servers. It does what has changed since the last build; without dist/ that is everything.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from './bundle.mjs';
import { entryPoints } from './entry-points.mjs';
import { changeSince, hashSources, projects, readStamp, versionOf, writeStamp } from './sources.mjs';

const root = process.cwd();
const before = readStamp(root);
// Read before anything is made of them: what changes meanwhile is built the next time.
const sources = hashSources(root);
const changed = (part) => before?.sources[part] !== sources[part];
// What fails half way is not taken for a build.
const everything = before === undefined || entryPoints.some((path) => !existsSync(join(root, path)));

if (everything || changed('client')) run(process.execPath, ['scripts/generate-prisma.mjs']);
const shared = everything || changed('client') || changed('shared');
const compiled = shared ? projects : projects.filter(changed);
let packages = before?.packages;
if (compiled.length > 0 || changeSince(before, root) !== undefined) {
  rmSync('dist/built-from.json', { force: true });
  if (compiled.length > 0) run('nest', ['build', ...compiled]);
  // The types of what own tools are written with.
  if (shared) run(process.execPath, ['node_modules/typescript-7/bin/tsc', '-p', 'libs/mcp-server/tsconfig.types.json']);
  const bundled = await bundle(entryPoints);
  packages = Object.fromEntries(bundled.map((path) => [path, versionOf(root, path)]));
}
if (everything || changed('launcher') || !existsSync('dist/launcher'))
  run(process.execPath, ['scripts/build-launcher.mjs']);
writeStamp(root, { sources, packages });

function run(program, args) {
  const { status, error } = spawnSync(program, args, {
    stdio: 'inherit',
    shell: process.platform === 'win32' && program !== process.execPath,
  });
  if (error !== undefined) console.error(error.message);
  if (status !== 0) process.exit(status ?? 1);
}
