// What a build was made from, by contents and not by times: a hash of each part of the sources. `npm run build` writes it down, so
// that it and `npm start` see what has changed since.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Programs of nest-cli.json, as they are compiled. */
export const projects = ['gateway', 'worker', 'chimech', 'scripts'];
const stamp = 'dist/built-from.json';
const generated = 'libs/postgres/prisma-client';
const parts = {
  client: ['prisma/schema.prisma', 'prisma.config.ts'],
  launcher: ['apps/worker/sandbox/launcher'],
  dictionary: ['scripts/build-dictionary.mjs', 'package.json'],
  shared: ['libs', 'tsconfig.json', 'nest-cli.json'],
  gateway: ['apps/gateway'],
  worker: ['apps/worker'],
  chimech: ['apps/chimech'],
  scripts: ['scripts'],
  console: ['apps/console', 'clients/typescript/src', 'libs/audit/secret-names.ts'],
};

/** @returns {Record<string, string>} a hash by part */
export function hashSources(root) {
  return Object.fromEntries(Object.entries(parts).map(([part, paths]) => [part, hashOf(root, paths)]));
}

/** @returns {Record<string, string> | undefined} the same of the last build; undefined if it did not end */
export function readStamp(root) {
  try {
    return JSON.parse(readFileSync(join(root, stamp), 'utf8'));
  } catch {
    return undefined;
  }
}

export const removeStamp = (root) => rmSync(join(root, stamp), { force: true });

export const writeStamp = (root, sources) => writeFileSync(join(root, stamp), `${JSON.stringify(sources)}\n`);

/** @returns {string | undefined} what has changed since the build, for a sentence */
export function changeSince(before, root) {
  const now = hashSources(root);
  const part = Object.keys(now).find((each) => now[each] !== before[each]);
  return part === undefined ? undefined : parts[part][0];
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
  /\.(?:[cm]?[jt]sx?|json|[ch]|css|html|svg)$/.test(file) &&
  !file.endsWith('.test.ts') &&
  !file.startsWith(`${generated}/`);
