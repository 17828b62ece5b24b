// Conditional and partial requests (RFC 9110): reads the headers, decides, knows no files.
import { AppError } from '#libs/schemas/errors.js';

export interface ByteRange {
  start: number;
  /** Left out itself. */
  end: number;
}

interface Headers {
  [name: string]: string | string[] | undefined;
}

const text = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value);
const tags = (list: string) => [...list.matchAll(/(?:W\/)?"[^"]*"/g)].map(([tag]) => tag);
const weakly = (tag: string) => tag.replace(/^W\//, '');

/** True when the reader has it already: answer 304. */
export function notModified(headers: Headers, etag: string): boolean {
  const wanted = text(headers['if-none-match']);
  if (wanted === undefined) return false;
  return wanted.trim() === '*' || tags(wanted).some((tag) => weakly(tag) === etag);
}

/** For changes. `etag` is undefined where there is nothing. @throws AppError precondition_failed */
export function checkPreconditions(headers: Headers, etag: string | undefined): void {
  const match = text(headers['if-match']);
  const matches = match === undefined || (etag !== undefined && (match.trim() === '*' || tags(match).includes(etag)));
  const none = text(headers['if-none-match']);
  const clashes =
    none !== undefined && etag !== undefined && (none.trim() === '*' || tags(none).map(weakly).includes(etag));
  if (!matches || clashes) throw new AppError('precondition_failed', 'The file is not as the request requires');
}

/**
 * The one range that is asked for; undefined: the whole. Several ranges, other units and an `If-Range` that does not
 * hold are answered with the whole.
 * @throws AppError range_not_satisfiable
 */
export function readRange(headers: Headers, file: { size: number; etag: string }): ByteRange | undefined {
  const ifRange = text(headers['if-range']);
  if (ifRange !== undefined && ifRange !== file.etag) return undefined;
  const match = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(text(headers['range']) ?? '');
  if (match === null) return undefined;
  const [first, last] = [match[1]!, match[2]!];
  if (first === '' && last === '') return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, file.size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? file.size : Math.min(file.size, Number(last) + 1);
  if (start >= end) throw new AppError('range_not_satisfiable', `The file has ${file.size} bytes`);
  return { start, end };
}
