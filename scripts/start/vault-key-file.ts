// The key of the vault that `npm start` makes where none is configured. It stays in the data directory, with the connections that it
// opens.
import { randomBytes, randomUUID } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeDirectory } from '#libs/embedded-postgres/embedded-postgres.js';
import { toDataDirError } from '#libs/embedded-postgres/embedded-postgres-error.js';

/** Resolves with the path of the file, which only its owner may read. */
export async function vaultKeyFile(dataDir: string): Promise<string> {
  const directory = resolve(dataDir);
  const path = join(directory, 'vault.key');
  // Linked when it is whole, since a start that is killed here must leave no half of a key.
  const half = `${path}.${randomUUID()}`;
  try {
    await makeDirectory(directory);
    await writeFile(half, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
    await link(half, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw toDataDirError(error, dataDir);
  } finally {
    await rm(half, { force: true }).catch(() => undefined);
  }
  return path;
}
