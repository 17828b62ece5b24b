// Who calls over HTTP: the keys that are valid now, several while one is being replaced. Keys are compared in constant time,
// and never shown: a caller is known by a part of its key's hash.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AppError } from '#libs/schemas/errors.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest();

export class CallerKeys {
  private readonly known: { hash: Buffer; userId: string }[];

  constructor(keys: readonly string[]) {
    this.known = keys.map((key) => {
      const hash = sha256(key);
      return { hash, userId: `key_${hash.toString('hex').slice(0, 12)}` };
    });
  }

  /** The user id of a request; `local` if there are no keys. @throws AppError invalid_api_key */
  identify({ headers }: Pick<IncomingMessage, 'headers'>): string {
    if (this.known.length === 0) return 'local';
    const given = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? headers['x-api-key'];
    if (typeof given !== 'string')
      throw new AppError('invalid_api_key', 'An API key is required: Authorization: Bearer …');
    const hash = sha256(given);
    // All of them, so that the time does not tell which one it was.
    const found = this.known.filter((key) => timingSafeEqual(key.hash, hash));
    if (found[0] === undefined) throw new AppError('invalid_api_key', 'This API key is not valid');
    return found[0].userId;
  }
}
