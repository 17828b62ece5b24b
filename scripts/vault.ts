// `signalbox vault`: makes a key of the vault, and seals all connections anew with the first one. Exit codes: 0 done, 1 something
// does not open with the configured keys, 2 wrong usage or no key, 3 the database does not answer.
import { randomBytes } from 'node:crypto';
import { ConfigError } from '#libs/config/config-error.js';
import { loadConfig } from '#libs/config/load-config.js';
import { rotateVault } from '#libs/connections/rotate-vault.js';
import { Vault } from '#libs/connections/vault.js';
import { readVaultKeys } from '#libs/connections/vault-keys.js';
import { readArguments, UsageError } from './cli/usage-error.js';
import { withMadeVaultKey } from './start/vault-key-file.js';
import { withStore } from './with-store.js';

const keyBytes = 32;
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(signal)));

try {
  const { positionals } = readArguments('vault', { allowPositionals: true, options: {} });
  const [command] = positionals;
  if (command === 'new-key') console.log(randomBytes(keyBytes).toString('base64'));
  else if (command === 'rotate') await rotate();
  else throw new UsageError(command === undefined ? 'No command was given' : `'${command}' is not a command`, 'vault');
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = error instanceof UsageError || error instanceof ConfigError ? 2 : 3;
}

async function rotate(): Promise<void> {
  const config = withMadeVaultKey(loadConfig());
  const keys = config.vault.key === undefined ? undefined : readVaultKeys(config.vault.key);
  if (keys === undefined) throw new UsageError('There is no key: set VAULT_KEY to the new one and the old ones');
  await withStore(config, { applicationName: 'vault' }, async (database) => {
    const { sealed, current, unreadable } = await rotateVault(database, new Vault(keys), stop.signal);
    console.log(`${sealed} sealed anew, ${current} had the first key already, ${unreadable} do not open`);
    if (unreadable > 0) process.exitCode = 1;
  });
}
