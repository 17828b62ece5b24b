// The keys of the vault as they are configured: 32 bytes in base64 each, separated by commas or lines.
export const vaultKeyCommand = 'openssl rand -base64 32';

const keyBytes = 32;

/** Undefined if one of them is no key. */
export function readVaultKeys(text: string): Buffer[] | undefined {
  const keys = text.split(/[\s,]+/).flatMap((each) => (each === '' ? [] : [Buffer.from(each, 'base64')]));
  return keys.length > 0 && keys.every(({ length }) => length === keyBytes) ? keys : undefined;
}
