// Keys that every store can hold and index: maps any string to a bounded one, different for different strings.
import { createHash } from 'node:crypto';

const plainKey = /^[\x20-\x7e]{1,200}$/;

export function storedKey(key: string): string {
  if (plainKey.test(key) && !key.startsWith('sha256:')) return key;
  return `sha256:${createHash('sha256').update(key, 'utf16le').digest('hex')}`;
}
