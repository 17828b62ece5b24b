// Which page of a list is asked for.
import { AppError } from '#libs/schemas/errors.js';

const defaultPage = 100;
export const maxPage = 1_000;

/** @throws AppError invalid_value */
export function readLimit(limit: unknown): number {
  if (limit === undefined) return defaultPage;
  if (typeof limit === 'string' && /^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= maxPage) {
    return Number(limit);
  }
  throw new AppError('invalid_value', `limit must be 1 to ${maxPage}`, { param: 'limit' });
}

/** The id of the last item of the page before. @throws AppError invalid_value */
export function readAfter(after: unknown): string {
  if (typeof after === 'string') return after;
  throw new AppError('invalid_value', 'after must be the id of an item', { param: 'after' });
}
