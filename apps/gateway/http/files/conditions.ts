// Evaluates the headers of conditional and partial requests (RFC 9110).
import { AppError } from '#libs/schemas/errors.js';

export interface ByteRange {
  start: number;
  /** Exclusive. */
  end: number;
}

interface Headers {
  [name: string]: string | string[] | undefined;
}

const text = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value);
const tags = (list: string) => [...list.matchAll(/(?:W\/)?"[^"]*"/g)].map(([tag]) => tag);
const weakly = (tag: string) => tag.replace(/^W\//, '');

interface Version {
  etag: string;
  modifiedAt: Date;
}

/** For reads: whether the client's copy is current, so that the answer is 304. */
export function notModified(headers: Headers, file: Version): boolean {
  const wanted = text(headers['if-none-match']);
  if (wanted !== undefined) return wanted.trim() === '*' || tags(wanted).some((tag) => weakly(tag) === file.etag);
  const since = httpDate(headers['if-modified-since']);
  return since !== undefined && wholeSeconds(file.modifiedAt) <= since;
}

/** For reads: `If-Match`, else `If-Unmodified-Since`. `file` is undefined if it does not exist. @throws AppError precondition_failed */
export function checkUnchanged(headers: Headers, file: Version | undefined): void {
  const match = text(headers['if-match']);
  const since = httpDate(headers['if-unmodified-since']);
  if (match !== undefined) {
    if (file === undefined || !(match.trim() === '*' || tags(match).includes(file.etag))) throw preconditionFailed();
  } else if (since !== undefined && (file === undefined || wholeSeconds(file.modifiedAt) > since)) {
    throw preconditionFailed();
  }
}

/** For writes: like `checkUnchanged`, and `If-None-Match`. @throws AppError precondition_failed */
export function checkPreconditions(headers: Headers, file: Version | undefined): void {
  checkUnchanged(headers, file);
  const none = text(headers['if-none-match']);
  if (none === undefined || file === undefined) return;
  if (none.trim() === '*' || tags(none).map(weakly).includes(file.etag)) throw preconditionFailed();
}

const preconditionFailed = () => new AppError('precondition_failed', "The file does not meet the request's conditions");

/** A date in one of the three forms of RFC 9110, in epoch ms. Anything else is ignored. */
function httpDate(value: string | string[] | undefined): number | undefined {
  const date = text(value)?.trim() ?? '';
  if (!/^[A-Z][a-z]{2,8},? [\w -]+\d\d:\d\d:\d\d( GMT| \d{4})$/.test(date)) return undefined;
  const time = Date.parse(date.endsWith(' GMT') ? date : `${date} GMT`);
  return Number.isNaN(time) ? undefined : time;
}

/** The precision of `Last-Modified`. */
const wholeSeconds = (date: Date) => Math.floor(date.getTime() / 1_000) * 1_000;

/**
 * The requested range; undefined for the whole file. Several ranges, other units and an `If-Range` that does not match
 * get the whole file. A date in `If-Range` never matches, because tools may set any modification time.
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
