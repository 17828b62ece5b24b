// The files below a directory that can be imported, in the order of their names. Links, devices and hidden entries are left
// out; what cannot be listed is reported.
import { opendir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { formats } from './documents.js';

export interface WalkedFile {
  /** Relative to the directory, with '/' between its parts. */
  path: string;
  absolutePath: string;
}

const maxDepth = 32;

export async function* walkFiles(
  root: string,
  onUnlisted: (path: string) => void,
  below = '',
  depth = 0,
): AsyncGenerator<WalkedFile> {
  const entries = await list(join(root, below)).catch(() => undefined);
  if (entries === undefined || depth > maxDepth) return onUnlisted(below);
  for (const { name, directory } of entries) {
    const path = below === '' ? name : `${below}/${name}`;
    if (directory) yield* walkFiles(root, onUnlisted, path, depth + 1);
    else if ((formats as readonly string[]).includes(extname(name).toLowerCase()))
      yield { path, absolutePath: join(root, path) };
  }
}

async function list(directory: string): Promise<{ name: string; directory: boolean }[]> {
  const entries: { name: string; directory: boolean }[] = [];
  for await (const entry of await opendir(directory)) {
    const hidden = entry.name.startsWith('.') || entry.name === 'node_modules';
    if (!hidden && (entry.isFile() || entry.isDirectory()))
      entries.push({ name: entry.name, directory: entry.isDirectory() });
  }
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
}
