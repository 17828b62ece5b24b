// The key that `npm start` makes, in real directories.
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { readVaultKeys } from '#libs/connections/vault-keys.js';
import { verifies } from '../../test/verifies.js';
import { vaultKeyFile, withMadeVaultKey } from './vault-key-file.js';

verifies('connections.settings', '`npm start` makes a key, once, that only its owner may read', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'vault-key-'));
  const dataDir = join(directory, 'deeper', 'data');
  try {
    const paths = await Promise.all([vaultKeyFile(dataDir), vaultKeyFile(dataDir)]);
    const text = await readFile(paths[0], 'utf8');
    expect(readVaultKeys(text)).toHaveLength(1);
    expect((await stat(paths[0])).mode & 0o777).toBe(0o600);
    await chmod(paths[0], 0o400);
    expect(await readFile(await vaultKeyFile(dataDir), 'utf8')).toBe(text);
    const given = readConfig({ environment: { DATA_DIR: dataDir } });
    expect(withMadeVaultKey(given).vault.key).toBe(text);
    const own = readConfig({ environment: { DATA_DIR: dataDir, VAULT_KEY: randomBytes(32).toString('base64') } });
    expect([withMadeVaultKey(own), withMadeVaultKey({ ...given, data_dir: directory })]).toEqual([
      own,
      { ...given, data_dir: directory },
    ]);
    expect(await readdir(dataDir)).toEqual(['vault.key']);
    await expect(vaultKeyFile(join(paths[0], 'below'))).rejects.toThrow('cannot be used');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
