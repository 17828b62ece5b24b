// Finds the PostgreSQL binaries that npm installed for this machine and gives them the shared-library links that their
// install script would have made (npm 11 runs none): in place, else in a copy below the data directory.
import { access, chmod, cp, mkdir, readFile, readdir, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

export interface Binaries {
  initdb: string;
  postgres: string;
}

interface Link {
  source: string;
  target: string;
}

const ownDatabase = 'Set DATABASE_URL to a PostgreSQL 14 or newer of your own.';

export function findNativeDirectory(): string {
  const { platform, arch } = process;
  if (platform === 'linux' && usesMusl()) {
    throw new EmbeddedPostgresError(
      'unsupported_platform',
      `The PostgreSQL that comes with Signalbox needs glibc, and this system uses musl (Alpine). ${ownDatabase}`,
    );
  }
  if (platform !== 'linux' && platform !== 'darwin') {
    throw new EmbeddedPostgresError(
      'unsupported_platform',
      `No PostgreSQL comes with Signalbox for ${platform} ${arch}. ${ownDatabase}`,
    );
  }
  const name = `@embedded-postgres/${platform}-${arch}`;
  try {
    return join(dirname(dirname(createRequire(import.meta.url).resolve(name))), 'native');
  } catch (error) {
    throw new EmbeddedPostgresError(
      'unsupported_platform',
      `The package ${name} is not installed: either it does not exist for this machine, or npm was told to leave ` +
        `optional dependencies out. ${ownDatabase}`,
      error,
    );
  }
}

/** `copies` holds a copy for each release if the links cannot be made in `nativeDirectory`. */
export async function openBinaries(nativeDirectory: string, copies: string): Promise<Binaries> {
  const links = JSON.parse(
    await readFile(join(nativeDirectory, 'pg-symlinks.json'), 'utf8').catch(() => '[]'),
  ) as Link[];
  let directory = nativeDirectory;
  if (!(await makeLinks(nativeDirectory, links))) {
    directory = join(copies, await readRelease(nativeDirectory));
    await copyOnce(nativeDirectory, directory, links);
  }
  return { initdb: join(directory, 'bin', 'initdb'), postgres: join(directory, 'bin', 'postgres') };
}

/** False if a link is missing and the directory is not writable. */
async function makeLinks(nativeDirectory: string, links: Link[]): Promise<boolean> {
  for (const { source, target } of links) {
    const path = join(dirname(nativeDirectory), target);
    if (await exists(path)) continue;
    try {
      await symlink(relative(dirname(target), source), path);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? '';
      if (['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(code)) return false;
      if (code !== 'EEXIST') throw error;
    }
  }
  return true;
}

/** A copy appears whole or not at all: a start that was cut short leaves nothing that a later one would trust. */
async function copyOnce(nativeDirectory: string, copyDirectory: string, links: Link[]): Promise<void> {
  if (await exists(copyDirectory)) return;
  const unfinished = `${copyDirectory}.${process.pid}`;
  // The links are named relative to a directory called `native`.
  const copy = join(unfinished, 'native');
  try {
    await mkdir(copy, { recursive: true });
    await cp(nativeDirectory, copy, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !source.endsWith('.a') && basename(source) !== 'pkgconfig',
    });
    await makeDirectoriesWritable(copy);
    if (!(await makeLinks(copy, links))) throw new Error('links cannot be made in the copy');
    await rename(copy, copyDirectory).catch((error: NodeJS.ErrnoException) => {
      // Another start finished the same copy first.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function readRelease(nativeDirectory: string): Promise<string> {
  const manifest = await readFile(join(dirname(nativeDirectory), 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/** A copy has the modes of its original; directories that even their owner cannot write could not be removed later. */
async function makeDirectoriesWritable(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) await makeDirectoriesWritable(join(directory, entry.name));
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function usesMusl(): boolean {
  // Network interfaces in the report would cost name look-ups.
  const { report: reporter } = process;
  Object.assign(reporter, { excludeNetwork: true });
  const report = reporter.getReport() as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime === undefined;
}
