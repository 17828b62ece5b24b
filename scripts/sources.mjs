// What a build was made from, by contents and not by times: a hash of each part of the sources, and the versions of the packages
// that are in the bundles. `npm run build` writes it down, so that it and `npm start` see what has changed since.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Programs of nest-cli.json, as they are compiled. */
export const projects = ['gateway', 'worker', 'chimech', 'scripts'];
const stamp = 'dist/built-from.json';
const generated = 'libs/postgres/prisma-client';
const parts = {
  client: ['prisma/schema.prisma', 'prisma.config.ts'],
  launcher: ['apps/worker/sandbox/launcher'],
  shared: ['libs', 'tsconfig.json', 'nest-cli.json'],
  gateway: ['apps/gateway'],
  worker: ['apps/worker'],
  chimech: ['apps/chimech'],
  scripts: ['scripts'],
};

/** @returns {Record<string, string>} a hash by part */
export function hashSources(root) {
  return Object.fromEntries(Object.entries(parts).map(([part, paths]) => [part, hashOf(root, paths)]));
}

/** @returns {{ sources: Record<string, string>, packages: Record<string, string> } | undefined} */
export function readStamp(root) {
  try {
    return JSON.parse(readFileSync(join(root, stamp), 'utf8'));
  } catch {
    return undefined;
  }
}

export function writeStamp(root, made) {
  writeFileSync(join(root, stamp), `${JSON.stringify(made)}\n`);
}

/** @returns {string | undefined} what has changed since the build, for a sentence */
export function changeSince({ sources, packages }, root) {
  const now = hashSources(root);
  const part = Object.keys(now).find((each) => now[each] !== sources[each]);
  if (part !== undefined) return parts[part][0];
  return Object.keys(packages).find((path) => versionOf(root, path) !== packages[path]);
}

/** @returns {string | undefined} */
export function versionOf(root, path) {
  try {
    return JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
}

function hashOf(root, paths) {
  const hash = createHash('sha256');
  for (const file of paths.flatMap((path) => filesOf(root, path))) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

function filesOf(root, path) {
  if (/\.\w+$/.test(path)) return [path];
  const names = readdirSync(join(root, path), { recursive: true, encoding: 'utf8' });
  return names
    .map((name) => `${path}/${name.replaceAll('\\', '/')}`)
    .filter((file) => isSource(file))
    .toSorted();
}

const isSource = (file) =>
  /\.(?:[cm]?[jt]s|json|[ch])$/.test(file) && !file.endsWith('.test.ts') && !file.startsWith(`${generated}/`);
