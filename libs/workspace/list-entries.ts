// The entries of an open directory, for readers: never more than requested, and marked if some are left out.
import type { Directory } from './directory.js';
import { toFileInfo, type FileInfo } from './open-file.js';
import { levelsBelowLimit } from './scan-usage.js';
import { walk } from './walk.js';

export interface ListedEntry extends FileInfo {
  path: string;
}

export interface ListOptions {
  recursive?: boolean;
  limit: number;
  signal?: AbortSignal | undefined;
}

export interface Listing {
  /** Sorted by path. */
  entries: ListedEntry[];
  truncated: boolean;
}

/** `prefix`: what paths begin with; empty for the workspace itself. */
export async function listEntries(
  directory: Directory,
  prefix: string,
  { recursive = false, limit, signal, maxDepth }: ListOptions & { maxDepth: number },
): Promise<Listing> {
  const deepest = recursive ? maxDepth + levelsBelowLimit : 1;
  const listing: Listing = { entries: [], truncated: false };
  for await (const entry of walk(directory, { maxDepth: deepest, signal, includeTemporary: prefix !== '' })) {
    if (listing.entries.length === limit) {
      listing.truncated = true;
      break;
    }
    listing.entries.push({ path: prefix + entry.path, ...toFileInfo(entry.stats) });
    if (recursive && entry.depth === deepest && entry.stats.isDirectory()) listing.truncated = true;
  }
  listing.entries.sort((a, b) => (a.path < b.path ? -1 : 1));
  return listing;
}
