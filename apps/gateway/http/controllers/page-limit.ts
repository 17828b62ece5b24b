// Reads which page of a list is requested.
import { AppError } from '#libs/schemas/errors.js';

/** @throws AppError invalid_value */
export function readPageLimit(limit: unknown, max: number, usual = 20): number {
  if (limit === undefined) return usual;
  if (typeof limit === 'string' && /^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= max) {
    return Number(limit);
  }
  throw new AppError('invalid_value', `limit must be 1 to ${max}`, { param: 'limit' });
}

/** The last id of the previous page; undefined for the first page. @throws AppError invalid_value */
export function readPageAfter(after: unknown): string | undefined {
  if (typeof after === 'string' || after === undefined) return after;
  throw new AppError('invalid_value', 'after must be the id of an item', { param: 'after' });
}
