// Cuts lists for MCP clients into pages. A cursor names the last entry that was shown, so that a list that changes meanwhile shows none
// twice.
import { AppError } from '#libs/schemas/errors.js';

export const listPageSize = 250;

interface PageOptions<Entry> {
  cursor: string | undefined;
  nameOf: (entry: Entry) => string;
  pageSize?: number;
}

/** @throws AppError invalid_value for text that is no cursor, or a cursor whose entry has gone */
export function pageOf<Entry>(
  entries: readonly Entry[],
  { cursor, nameOf, pageSize = listPageSize }: PageOptions<Entry>,
): { shown: readonly Entry[]; next: { nextCursor?: string } } {
  const start = cursor === undefined ? 0 : positionAfter(entries.map(nameOf), cursor);
  const shown = entries.slice(start, start + pageSize);
  const more = start + pageSize < entries.length;
  return { shown, next: more ? { nextCursor: Buffer.from(nameOf(shown.at(-1)!)).toString('base64url') } : {} };
}

function positionAfter(names: readonly string[], cursor: string): number {
  const at = names.indexOf(Buffer.from(cursor, 'base64url').toString());
  if (at < 0) throw new AppError('invalid_value', 'This cursor is not valid: list from the start', { param: 'cursor' });
  return at + 1;
}
