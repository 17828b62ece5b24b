// Secrets in transit between processes: the cache holds them encrypted and for a short time, the recipient gets the
// key. Neither alone reveals anything.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Cache } from './cache.js';

export interface SealedReference {
  ref: string;
  /** base64 of 256 bits; used for one value only. */
  key: string;
}

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

export function mintSealedReference(): SealedReference {
  return { ref: randomBytes(16).toString('hex'), key: randomBytes(32).toString('base64') };
}

export class SealedValues {
  constructor(private readonly cache: Cache) {}

  /** @throws AppError store_unavailable */
  async put({ ref, key }: SealedReference, value: string, ttlMs: number, signal: AbortSignal): Promise<void> {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, Buffer.from(key, 'base64'), iv);
    const body = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
    const text = Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
    await this.cache.set(nameOf(ref), text, ttlMs, signal);
  }

  /** Undefined if the value has expired, or is not one of ours. @throws AppError store_unavailable */
  async get({ ref, key }: SealedReference, signal: AbortSignal): Promise<string | undefined> {
    const text = await this.cache.get(nameOf(ref), signal);
    if (text === undefined) return undefined;
    const bytes = Buffer.from(text, 'base64');
    try {
      const decipher = createDecipheriv(algorithm, Buffer.from(key, 'base64'), bytes.subarray(0, ivBytes));
      decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      return decipher.update(bytes.subarray(ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      return undefined;
    }
  }

  async delete({ ref }: Pick<SealedReference, 'ref'>, signal: AbortSignal): Promise<void> {
    await this.cache.delete(nameOf(ref), signal);
  }
}

const nameOf = (ref: string): string => `sealed:${ref}`;
