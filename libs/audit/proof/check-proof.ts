// Checks a proof of a row, with nothing but the file and public keys: in Node and in browsers, which have WebCrypto only on pages with TLS
// and on this machine. Trusts nothing that the file says about itself.
import { type AuditProof, type ProofCheck, proofFormat, type ProvenRow } from './audit-proof.js';
import { type Bytes, fromHex, linkBytes, linkedHash, readRowContent, toHex } from './row-content.js';

/** Characters of a file that is looked at. */
export const longestProof = 8 * 1024 * 1024;

/** `publicKeys`: in PEM; without any, the key in the file. Throws where there is no WebCrypto, and for a key that is none. */
export async function checkProof(text: string, publicKeys: readonly string[] = []): Promise<ProofCheck> {
  const proof = text.length > longestProof ? undefined : readProof(text);
  if (proof === undefined) return { fault: 'format' };
  const content = fromHex(proof.content);
  const row = content === undefined ? undefined : readRowContent(content);
  if (content === undefined || row === undefined) return { fault: 'row' };
  const { chain, position, previous_hash: previous, hash: stored, ...said } = proof.row;
  const names = new Set([...Object.keys(row), ...Object.keys(said)]);
  if ([...names].some((name) => !Object.is(row[name], said[name]))) return { fault: 'row' };
  const previousHash = typeof previous === 'string' ? fromHex(previous) : undefined;
  if (!isPosition(chain) || !isPosition(position) || previousHash === undefined) return { fault: 'row' };

  let hash = await hashOf({ chain, position, previousHash }, await sha256(content));
  if (toHex(hash) !== stored) return { fault: 'row' };
  let at = position;
  for (const digest of proof.rows_after) {
    const bytes = fromHex(digest);
    if (bytes?.length !== 32) return { fault: 'chain' };
    at += 1;
    hash = await hashOf({ chain, position: at, previousHash: hash }, bytes);
  }
  const checkpoint = readCheckpoint(proof.checkpoint.content);
  if (checkpoint === undefined) return { fault: 'format' };
  const end = checkpoint.heads[String(chain)];
  if (end?.[0] !== String(at) || end[1] !== toHex(hash)) return { fault: 'chain' };

  const checkpointHash = await sha256(new TextEncoder().encode(proof.checkpoint.content));
  const signature = await checkSignature(proof, checkpointHash, publicKeys);
  if (signature === undefined) return { fault: proof.signed ? 'signature' : 'unsigned' };
  return {
    proven: {
      row,
      chain,
      position,
      rowsAfter: proof.rows_after.length,
      checkpoint: { number: checkpoint.number, at: checkpoint.at, hash: toHex(checkpointHash) },
      ...signature,
    },
  };
}

/** Undefined: the signature is not valid. */
async function checkSignature(
  { checkpoint, public_key: own }: AuditProof,
  hash: Bytes,
  given: readonly string[],
): Promise<Pick<ProvenRow, 'signature' | 'keyId'> | undefined> {
  const keys = await Promise.all(given.map((pem) => importKey(readPem(pem))));
  if (keys.includes(undefined)) throw new NoPublicKey();
  if (checkpoint.signature === null) return given.length > 0 ? undefined : { signature: 'none' };
  if (given.length === 0) {
    if (own === null) return { signature: 'unchecked' };
    keys.push(await importKey(fromHex(own)));
  }
  if (keys.includes('unsupported')) return { signature: 'unsupported' };
  const signature = fromHex(checkpoint.signature);
  for (const imported of keys) {
    if (imported === undefined || imported === 'unsupported' || signature?.length !== 64) continue;
    if (!(await crypto.subtle.verify('Ed25519', imported.key, signature, hash))) continue;
    return { signature: given.length > 0 ? 'given' : 'own', keyId: toHex(await sha256(imported.spki)) };
  }
  return undefined;
}

/** A text that was given as a public key is none. */
export class NoPublicKey extends Error {
  constructor() {
    super('This is not a public Ed25519 key in PEM');
  }
}

interface PublicKey {
  spki: Bytes;
  key: Awaited<ReturnType<typeof crypto.subtle.importKey>>;
}

async function importKey(spki: Bytes | undefined): Promise<PublicKey | 'unsupported' | undefined> {
  if (spki === undefined) return undefined;
  try {
    return { spki, key: await crypto.subtle.importKey('spki', spki, 'Ed25519', false, ['verify']) };
  } catch (error) {
    return (error as { name?: string }).name === 'NotSupportedError' ? 'unsupported' : undefined;
  }
}

function readPem(pem: string): Bytes | undefined {
  const [, base64] = /^\s*-----BEGIN PUBLIC KEY-----([A-Za-z\d+/=\s]+)-----END PUBLIC KEY-----\s*$/.exec(pem) ?? [];
  try {
    return base64 === undefined
      ? undefined
      : Uint8Array.from(atob(base64.replaceAll(/\s/g, '')), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

const sha256 = async (bytes: Bytes): Promise<Bytes> => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));

async function hashOf(
  { chain, position, previousHash }: { chain: number; position: number; previousHash: Bytes },
  digest: Bytes,
): Promise<Bytes> {
  return linkedHash(await sha256(linkBytes({ chain, position: BigInt(position), previousHash }, digest)));
}

const isPosition = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string';

function readProof(text: string): AuditProof | undefined {
  const given = readJson(text);
  if (!isObject(given) || given['signalbox_audit_proof'] !== proofFormat) return undefined;
  const { row, content, rows_after: after, checkpoint, public_key: key, signed } = given;
  const isComplete =
    isObject(row) &&
    typeof content === 'string' &&
    Array.isArray(after) &&
    after.every((each) => typeof each === 'string') &&
    isObject(checkpoint) &&
    typeof checkpoint['content'] === 'string' &&
    isTextOrNull(checkpoint['signature']) &&
    isTextOrNull(key) &&
    signed === (checkpoint['signature'] !== null);
  return isComplete ? (given as unknown as AuditProof) : undefined;
}

interface ReadCheckpoint {
  number: string;
  at: string;
  heads: Record<string, [position: string, hash: string] | undefined>;
}

function readCheckpoint(content: string): ReadCheckpoint | undefined {
  const given = readJson(content);
  if (!Array.isArray(given)) return undefined;
  const [number, at, heads] = given as unknown[];
  const isNamed = typeof number === 'string' && /^\d{1,19}$/.test(number);
  const isTimed = typeof at === 'string' && /^\d{4}-[\d-]{5}T[\d:.]{12}Z$/.test(at) && !Number.isNaN(Date.parse(at));
  if (!isNamed || !isTimed || !isObject(heads)) return undefined;
  if (Object.values(heads).some((each) => !Array.isArray(each))) return undefined;
  return { number, at, heads: heads as ReadCheckpoint['heads'] };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
