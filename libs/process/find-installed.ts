// Finds files of the installed package, both from sources and from compiled files (dist/).
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = findRoot(import.meta.dirname);

/** An absolute path. The file need not exist. */
export const installedPath = (path: string): string => join(root, path);

/** A program or thread of ours, as `npm run build` makes it: `apps/worker/main.js`. */
export const builtProgram = (path: string): URL => pathToFileURL(join(root, 'dist', path));

function findRoot(directory: string): string {
  if (existsSync(join(directory, 'package.json'))) return directory;
  const above = dirname(directory);
  if (above === directory) throw new Error('There is no package.json above the program');
  return findRoot(above);
}
