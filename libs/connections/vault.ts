// Seals the secrets of connections: AES-256-GCM under the first key of the configuration. What a value belongs to is authenticated
// with it, so that a row that is copied to another principal, server or issuer does not open.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { ConfigError } from '#libs/config/config-error.js';
import type { Config } from '#libs/config/schema.js';
import { readVaultKeys, vaultKeyCommand } from './vault-keys.js';
import { AppError } from '#libs/schemas/errors.js';

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** What a sealed value belongs to, from the kind of row to its key. */
export type SealedFor = readonly string[];

export class Vault {
  private readonly sealing: { id: string; key: Buffer };
  private readonly byId: ReadonlyMap<string, Buffer>;

  /** @param keys The first seals, all open. */
  constructor(keys: readonly Buffer[]) {
    this.sealing = { id: idOf(keys[0]!), key: keys[0]! };
    this.byId = new Map(keys.map((key) => [idOf(key), key]));
  }

  seal(value: unknown, owner: SealedFor): string {
    const { id, key } = this.sealing;
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, key, iv).setAAD(bytesOf(owner));
    const body = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
    return `${id}.${Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')}`;
  }

  /** @throws AppError internal_error if it was sealed for another owner, or its key is no longer configured */
  open(sealed: string, owner: SealedFor): unknown {
    const [id = '', text = ''] = sealed.split('.');
    const key = this.byId.get(id);
    if (key === undefined)
      throw new AppError('internal_error', 'A connection was sealed with a key that is not configured');
    const bytes = Buffer.from(text, 'base64url');
    try {
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
      decipher.setAAD(bytesOf(owner)).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      return JSON.parse(
        decipher.update(bytes.subarray(ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8'),
      );
    } catch {
      throw new AppError(
        'internal_error',
        'A connection does not open: its row was changed or belongs to somebody else',
      );
    }
  }

  /** Whether the value is sealed with the first key. */
  isCurrent(sealed: string): boolean {
    return sealed.startsWith(`${this.sealing.id}.`);
  }
}

/** Tells keys apart and says nothing about them. */
const idOf = (key: Buffer): string => createHash('sha256').update('vault key').update(key).digest('hex').slice(0, 8);

const bytesOf = (owner: SealedFor): Buffer => Buffer.from(JSON.stringify(owner));

export const missingVaultKey = `needs a vault key: set VAULT_KEY to what \`${vaultKeyCommand}\` prints`;

/** Undefined if there is no key and no server needs one. @throws ConfigError */
export function openVault({ vault, mcpServers }: Pick<Config, 'vault' | 'mcpServers'>): Vault | undefined {
  const keys = vault.key === undefined ? undefined : readVaultKeys(vault.key);
  if (keys !== undefined) return new Vault(keys);
  const needing = Object.entries(mcpServers).filter(([, { enabled, auth }]) => enabled && auth !== undefined);
  if (needing.length === 0) return undefined;
  throw new ConfigError(needing.map(([name]) => ({ key: `mcpServers.${name}.auth`, message: missingVaultKey })));
}
