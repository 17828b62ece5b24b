// Removes a tree of any depth, modes and names, with three descriptors: subdirectories are moved up beside the
// others before they are emptied. Links are unlinked, never followed, even if one is swapped in meanwhile.
import { randomBytes } from 'node:crypto';
import { opendir, rename, rmdir, unlink } from 'node:fs/promises';
import type { Dirent } from 'node:fs';
import { Directory, type Name } from './directory.js';
import { errorCode } from './file-errors.js';
import { reservedPrefix } from './workspace-path.js';

/** Limits attempts against a process that replaces entries meanwhile. */
const maxAttempts = 16;
const batchSize = 64;
/** Names of directories that wait to be emptied; the next pass finds more. */
const maxPending = 10_000;
const defaultBudgetMs = 10_000;

export interface RemovalOptions {
  signal?: AbortSignal | undefined;
  /** Time after which the rest is left for later, as for millions of files, or a process that keeps creating files. */
  budgetMs?: number;
}

interface Bounds {
  signal: AbortSignal | undefined;
  until: number;
}

class OutOfTime extends Error {}

/**
 * Removes the directory `name` of `parent` with its contents; does nothing if it does not exist.
 * Returns false if the time was not enough.
 */
export async function removeTree(parent: Directory, name: Name, options: RemovalOptions = {}): Promise<boolean> {
  const bounds = { signal: options.signal, until: performance.now() + (options.budgetMs ?? defaultBudgetMs) };
  try {
    for (;;) {
      const top = await openLocked(parent, name);
      if (top === undefined) return true;
      try {
        await emptyTop(top, bounds);
      } finally {
        await top.close();
      }
      if (await removedDirectory(parent, name)) return true;
      check(bounds);
    }
  } catch (error) {
    if (error instanceof OutOfTime) return false;
    throw error;
  }
}

function check({ signal, until }: Bounds): void {
  signal?.throwIfAborted();
  if (performance.now() >= until) throw new OutOfTime('the time for a removal is over');
}

/** Empties `top` and every directory moved up to `top` meanwhile. */
async function emptyTop(top: Directory, bounds: Bounds): Promise<void> {
  const pending: Name[] = [];
  const remember = (name: Name) => {
    if (pending.length < maxPending) pending.push(name);
  };
  for await (const name of subdirectories(top, bounds)) remember(name);
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const child = await openLocked(top, name);
    if (child === undefined) continue;
    try {
      for await (const inner of subdirectories(child, bounds)) remember(await moveUp(child, inner, top));
    } finally {
      await child.close();
    }
    await removedDirectory(top, name);
  }
}

/** Unlinks everything except directories and yields the names of those. */
async function* subdirectories(directory: Directory, bounds: Bounds): AsyncGenerator<Buffer> {
  const listing = await opendir(directory.self(), { encoding: 'buffer' as BufferEncoding, bufferSize: 256 });
  let names: Buffer[] = [];
  for await (const dirent of listing as AsyncIterable<Dirent | Dirent<Buffer>>) {
    names.push(Buffer.from(dirent.name as Buffer));
    if (names.length < batchSize) continue;
    check(bounds);
    yield* await notUnlinked(directory, names);
    names = [];
  }
  check(bounds);
  yield* await notUnlinked(directory, names);
}

async function notUnlinked(directory: Directory, names: readonly Buffer[]): Promise<Buffer[]> {
  const gone = await Promise.all(names.map((name) => unlinked(directory, name)));
  return names.filter((_, index) => !gone[index]);
}

async function moveUp(from: Directory, name: Buffer, top: Directory): Promise<string> {
  const to = `${reservedPrefix}${randomBytes(8).toString('hex')}`;
  try {
    await rename(from.child(name), top.child(to));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return to;
    if (errorCode(error) !== 'EACCES' && errorCode(error) !== 'EPERM') throw error;
    await from.unlock(name);
    await rename(from.child(name), top.child(to));
  }
  return to;
}

/** False when the name is a directory. */
async function unlinked(directory: Directory, name: Buffer): Promise<boolean> {
  try {
    await unlink(directory.child(name));
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return true;
    if (errorCode(error) === 'EISDIR') return false;
    const stats = await directory.stat(name);
    if (stats === undefined) return true;
    if (stats.isDirectory()) return false;
    throw error;
  }
}

async function openLocked(parent: Directory, name: Name): Promise<Directory | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const opened = await parent.openDirectory(name);
      // Listing needs read permission, removing from it write and search.
      await opened.handle.chmod(0o700).catch(() => undefined);
      return opened;
    } catch (error) {
      const code = errorCode(error);
      if (code === 'ENOENT') return undefined;
      if (code === 'ENOTDIR' || code === 'ELOOP') {
        if (await unlinked(parent, Buffer.from(name))) return undefined;
      } else if (code === 'EACCES') await parent.unlock(name);
      else throw error;
      if (attempt === maxAttempts) throw error;
    }
  }
}

async function removedDirectory(parent: Directory, name: Name): Promise<boolean> {
  try {
    await rmdir(parent.child(name));
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') return true;
    if (code === 'ENOTDIR') return unlinked(parent, Buffer.from(name));
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}
