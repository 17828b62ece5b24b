// The key of the vault that `npm start` makes where none is configured. It stays in the data directory, with the connections that it
// opens, and the commands beside `npm start` read it there.
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { link, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '#libs/config/schema.js';
import { makeDirectory } from '#libs/embedded-postgres/embedded-postgres.js';
import { toDataDirError } from '#libs/embedded-postgres/embedded-postgres-error.js';

const fileIn = (dataDir: string): string => join(resolve(dataDir), 'vault.key');

/** The configuration as `npm start` has it: without a configured key, with the one that it has made, if any. */
export function withMadeVaultKey(config: Config): Config {
  const path = fileIn(config.data_dir);
  if (config.vault.key !== undefined || !existsSync(path)) return config;
  return { ...config, vault: { key: readFileSync(path, 'utf8') } };
}

/** Resolves with the path of the file, which only its owner may read. */
export async function vaultKeyFile(dataDir: string): Promise<string> {
  const directory = resolve(dataDir);
  const path = fileIn(dataDir);
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
