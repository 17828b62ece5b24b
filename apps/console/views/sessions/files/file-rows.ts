// The listed files of a session as the rows of a tree, of which directories are open or closed.
import type { FileEntry } from '@signalbox/client';

export interface FileRow {
  entry: FileEntry;
  name: string;
  depth: number;
  isOpen: boolean;
}

/** Directories first, then by name. */
export function fileRows(files: readonly FileEntry[], closed: ReadonlySet<string>): FileRow[] {
  const inside = new Map<string, FileEntry[]>();
  for (const entry of files) {
    const parent = parentOf(entry.path);
    inside.set(parent, [...(inside.get(parent) ?? []), entry]);
  }
  const rows: FileRow[] = [];
  add('', 0);
  return rows;

  function add(directory: string, depth: number): void {
    const entries = inside.get(directory)?.toSorted(compare) ?? [];
    for (const entry of entries) {
      const isOpen = entry.type === 'directory' && !closed.has(entry.path);
      rows.push({ entry, name: nameOf(entry.path), depth, isOpen });
      if (isOpen) add(entry.path, depth + 1);
    }
  }
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

function compare(one: FileEntry, other: FileEntry): number {
  const isDirectory = (entry: FileEntry) => Number(entry.type === 'directory');
  return isDirectory(other) - isDirectory(one) || (one.path < other.path ? -1 : 1);
}
