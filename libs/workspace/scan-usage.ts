// Counts a workspace's use, and removes unfinished files of dead processes.
import type { BigIntStats } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { AppError } from '#libs/schemas/errors.js';
import { Directory } from './directory.js';
import { errorCode } from './file-errors.js';
import { removeTree } from './remove-tree.js';
import type { ScannedUsage, UsageLedger } from './usage-ledger.js';
import { walk, type Entry } from './walk.js';
import { reservedPrefix, temporaryDirectory } from './workspace-path.js';

/** The unfinished writes of this process, which are counted as reservations. */
export const unfinished = new Set<string>();

const leftBehindMs = 60 * 60 * 1_000;
/** Time for cleanup in one count, since writes wait for the count; the next count continues. */
const clearingMs = 1_000;
/** Command servers may create directories below the limit; a walk goes this deep, and reports if there are more. */
export const levelsBelowLimit = 2;

export async function scanUsage(
  place: { hostPath: string; ledger: UsageLedger },
  signal?: AbortSignal,
): Promise<ScannedUsage> {
  const usage: ScannedUsage = { bytes: 0, files: 0, directories: 0, tooDeep: false };
  const root = await openIfThere(place.hostPath);
  if (root === undefined) return usage;
  const { maxDepth, maxFiles } = place.ledger.limits;
  try {
    const options = { signal, maxDepth: maxDepth + levelsBelowLimit, includeReserved: true, includeTemporary: true };
    for await (const entry of walk(root, options)) {
      if (isReserved(entry) && (unfinished.has(entry.name.toString()) || (await clearedAway(entry, signal)))) continue;
      count(usage, entry);
      if (entry.depth >= options.maxDepth && entry.stats.isDirectory()) usage.tooDeep = true;
      // A limit only needs to know that it is exceeded.
      if (usage.files + usage.directories > maxFiles * 2) return usage;
    }
    return usage;
  } finally {
    await root.close();
  }
}

function count(usage: ScannedUsage, entry: Entry): void {
  if (entry.depth === 1 && entry.path === temporaryDirectory) return;
  if (entry.stats.isDirectory()) {
    usage.directories += 1;
    return;
  }
  usage.files += 1;
  usage.bytes += sizeOf(entry.stats);
}

const sizeOf = (stats: BigIntStats) => (stats.isFile() ? Number(stats.size) : 0);
const isReserved = (entry: Entry) => entry.name.toString('latin1').startsWith(reservedPrefix);

/** Removes only files that have not changed for long, since another process may be writing others. */
async function clearedAway(entry: Entry, signal?: AbortSignal): Promise<boolean> {
  if (Date.now() - Number(entry.stats.ctimeMs) < leftBehindMs) return false;
  if (entry.stats.isDirectory()) return removeTree(entry.parent, entry.name, { signal, budgetMs: clearingMs });
  await unlink(entry.parent.child(entry.name)).catch(() => undefined);
  return true;
}

async function openIfThere(hostPath: string): Promise<Directory | undefined> {
  try {
    return await Directory.openPath(hostPath);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') return undefined;
    if (code === 'ENOTDIR' || code === 'ELOOP') {
      throw new AppError('path_outside_workspace', 'The workspace is not a directory', { cause: error });
    }
    throw error;
  }
}
