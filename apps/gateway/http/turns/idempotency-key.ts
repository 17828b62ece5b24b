// Reads the key with which a request can be repeated safely.
import type { FastifyRequest } from 'fastify';
import { AppError } from '#libs/schemas/errors.js';

/** @throws AppError invalid_value */
export function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new AppError('invalid_value', 'Idempotency-Key must be 1 to 255 printable characters', {
    param: 'Idempotency-Key',
  });
}
