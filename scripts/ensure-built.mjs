// Before `npm start` and `npm test`: builds what is missing in dist/ or older than its sources. Where the sources cannot be
// written (an image, someone else's checkout) it builds nothing, and says what that means.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { entryPoints } from './entry-points.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = ['apps', 'libs', 'scripts', 'prisma/schema.prisma', 'package-lock.json', 'tsconfig.json'];

const missing = entryPoints.filter((path) => modifiedAt(path) === undefined);
const oldest = Math.min(...entryPoints.map((path) => modifiedAt(path) ?? 0));
const stale = missing.length === 0 && newestOf(sources) > oldest;
if (missing.length > 0 || stale) {
  const why = missing.length > 0 ? `${missing[0]} is missing` : 'dist/ is older than its sources';
  if (canBuild()) build(why);
  else if (missing.length > 0) fail(`${why}, and it cannot be built here: run \`npm ci\` as the owner of ${root}.`);
  else console.error(`${why}, and they cannot be built here: starting what was built.`);
}

function build(why) {
  console.error(`Building first: ${why}.`);
  const { status, error } = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) fail(`The build failed${error === undefined ? '' : `: ${error.message}`}.`);
}

function canBuild() {
  try {
    accessSync(root, constants.W_OK);
    accessSync(join(root, 'libs/postgres'), constants.W_OK);
    accessSync(join(root, 'node_modules/.bin/nest'), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function newestOf(paths) {
  let newest = 0;
  for (const path of paths) {
    const entries = path.includes('.') ? [path] : readdirSync(join(root, path), { recursive: true, encoding: 'utf8' });
    for (const entry of entries) {
      const file = entry === path ? path : join(path, entry);
      // The generated client is newer than what it was made from, and older than what was built with it.
      if (!/\.(?:ts|prisma|json|[ch])$/.test(file) || file.endsWith('.test.ts')) continue;
      newest = Math.max(newest, modifiedAt(file) ?? 0);
    }
  }
  return newest;
}

function modifiedAt(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
