// Walks a tree by descriptors, never following links. Holds one descriptor per level, so its depth is limited.
import type { BigIntStats, Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { errorCode } from './file-errors.js';
import { Directory } from './directory.js';
import { reservedPrefix, temporaryDirectory } from './workspace-path.js';

export interface Entry {
  name: Buffer;
  /** The path from the start of the walk; bytes that are not UTF-8 are shown as U+FFFD. */
  path: string;
  /** The bytes of the path, without those of the name. */
  rawPrefix: Buffer;
  /** 1 for entries of the first directory. */
  depth: number;
  stats: BigIntStats;
  parent: Directory;
}

export interface WalkOptions {
  signal?: AbortSignal | undefined;
  /** Deepest level that is entered; deeper directories are yielded, not entered. */
  maxDepth: number;
  /** Includes the workspace's own short-lived names. */
  includeReserved?: boolean;
  /** Shows the session's directory for temporary files where it is met first. */
  includeTemporary?: boolean;
}

const batchSize = 64;
const slash = Buffer.from('/');

interface Level extends Pick<Entry, 'rawPrefix' | 'depth'> {
  prefix: string;
}

/** Entries in no particular order, a directory before its contents. Skips entries that disappear meanwhile. */
export async function* walk(directory: Directory, options: WalkOptions): AsyncGenerator<Entry> {
  yield* level(directory, { prefix: '', rawPrefix: Buffer.alloc(0), depth: 1 }, options);
}

async function* level(directory: Directory, at: Level, options: WalkOptions): AsyncGenerator<Entry> {
  for await (const entries of batches(directory, at, options)) {
    for (const entry of entries) {
      yield entry;
      if (!entry.stats.isDirectory() || at.depth >= options.maxDepth) continue;
      const child = await enterIfThere(directory, entry.name);
      if (child === undefined) continue;
      try {
        const rawPrefix = Buffer.concat([at.rawPrefix, entry.name, slash]);
        yield* level(child, { prefix: `${entry.path}/`, rawPrefix, depth: at.depth + 1 }, options);
      } finally {
        await child.close();
      }
    }
  }
}

async function* batches(directory: Directory, at: Level, options: WalkOptions): AsyncGenerator<Entry[]> {
  let names: Buffer[] = [];
  // The path is resolved only here; the stream of names then belongs to that directory.
  const listing = await opendir(directory.self(), { encoding: 'buffer' as BufferEncoding, bufferSize: 256 });
  for await (const dirent of listing as AsyncIterable<Dirent<Buffer> | Dirent>) {
    options.signal?.throwIfAborted();
    const name = Buffer.from(dirent.name as Buffer);
    if (hidden(name, at.depth, options)) continue;
    names.push(name);
    if (names.length < batchSize) continue;
    yield await withStats(directory, at, names);
    names = [];
  }
  if (names.length > 0) yield await withStats(directory, at, names);
}

function hidden(name: Buffer, depth: number, options: WalkOptions): boolean {
  if (options.includeReserved !== true && name.toString('latin1').startsWith(reservedPrefix)) return true;
  return options.includeTemporary !== true && depth === 1 && name.toString('latin1') === temporaryDirectory;
}

async function withStats(directory: Directory, at: Level, names: readonly Buffer[]): Promise<Entry[]> {
  const stats = await Promise.all(names.map((name) => directory.stat(name)));
  return names.flatMap((name, index) => {
    const found = stats[index];
    if (found === undefined) return [];
    const { prefix, ...level } = at;
    return [{ ...level, name, path: prefix + name.toString('utf8'), stats: found, parent: directory }];
  });
}

async function enterIfThere(directory: Directory, name: Buffer): Promise<Directory | undefined> {
  try {
    return await directory.openDirectory(name);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}
