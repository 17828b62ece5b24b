// A checkpoint of the audit: the ends of all chains at a time, with the hash of the checkpoint before it, signed if there is
// a key. Uses Ed25519, so that those who verify cannot sign. Pure.
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** The position and hash (hex) of a row, by chain. */
export type ChainEnds = Record<string, [position: string, hash: string]>;

export interface Checkpoint {
  number: bigint;
  at: Date;
  heads: ChainEnds;
  /** The last row of each chain that retention has dropped. */
  starts: ChainEnds;
  dropped: string | null;
  /** The hash of the checkpoint before; empty for the first. */
  previousHash: Uint8Array;
}

/** The text that is hashed. */
export function checkpointContent({ number, at, heads, starts, dropped, previousHash }: Checkpoint): string {
  const previous = Buffer.from(previousHash).toString('hex');
  return JSON.stringify([String(number), at.toISOString(), heads, starts, dropped, previous]);
}

export const checkpointHash = (checkpoint: Checkpoint): Buffer =>
  createHash('sha256').update(checkpointContent(checkpoint)).digest();

export const signHash = (hash: Uint8Array, key: KeyObject): Buffer => sign(null, hash, key);

export const isSignedBy = (hash: Uint8Array, signature: Uint8Array, keys: readonly KeyObject[]): boolean =>
  keys.some((key) => verify(null, hash, key, signature));

/** A private Ed25519 key in PEM, also with its line breaks written as \\n; undefined for anything else. */
export const readSigningKey = (pem: string): KeyObject | undefined => ed25519(pem, createPrivateKey);

/** The public key, also of a private one. */
export const readPublicKey = (pem: string): KeyObject | undefined => ed25519(pem, createPublicKey);

function ed25519(pem: string, read: (pem: string) => KeyObject): KeyObject | undefined {
  try {
    const key = read(pem.replaceAll('\\n', '\n'));
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}
