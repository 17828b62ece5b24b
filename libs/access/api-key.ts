// An API key: `sb_` and 256 random bits. It is shown once, and only its SHA-256 is stored; with that much entropy no slow
// hash is needed. Keys are found by their hash, never compared, so timing reveals nothing about a key.
import { hash, randomBytes } from 'node:crypto';

const form = /^sb_[A-Za-z0-9_-]{43}$/;
const shownLength = 11;

export interface MintedKey {
  id: string;
  key: string;
  hash: string;
  /** The first characters, so that a person can recognize the key. */
  prefix: string;
}

export function mintKey(): MintedKey {
  const key = `sb_${randomBytes(32).toString('base64url')}`;
  return {
    id: `key_${randomBytes(12).toString('hex')}`,
    key,
    hash: hashOfKey(key),
    prefix: key.slice(0, shownLength),
  };
}

export const hasKeyForm = (text: string): boolean => form.test(text);

/** Hex. */
export const hashOfKey = (key: string): string => hash('sha256', key);

/** The key that a request carries (`Authorization: Bearer`, else `x-api-key`), and the name of the header. */
export function presentedKey(headers: {
  authorization?: string | undefined;
  'x-api-key'?: string | string[] | undefined;
}): { key: string; header: 'authorization' | 'x-api-key' } | undefined {
  const { authorization, 'x-api-key': apiKey } = headers;
  if (authorization !== undefined) {
    return { key: /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '', header: 'authorization' };
  }
  if (apiKey !== undefined) return { key: String(apiKey), header: 'x-api-key' };
  return undefined;
}
