// Reads the `limit` of a paged list.
import { AppError } from '#libs/schemas/errors.js';

const defaultLimit = 20;

/** @throws AppError invalid_value */
export function readPageLimit(limit: unknown, max: number): number {
  if (limit === undefined) return defaultLimit;
  if (typeof limit === 'string' && /^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= max) {
    return Number(limit);
  }
  throw new AppError('invalid_value', `limit must be 1 to ${max}`, { param: 'limit' });
}
