// Converts the operating system's file errors to ones that a caller may see: with the path as the caller gave it.
import { lstatSync } from 'node:fs';
import { AppError, type ErrorCode } from '#libs/schemas/errors.js';
import { diskFull } from './free-space.js';

export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;

const ofPath =
  (code: ErrorCode, words: (path: string) => string) =>
  (path: string): AppError =>
    new AppError(code, words(path), { param: 'path' });
const outside = 'path_outside_workspace';

export const notFound = ofPath('file_not_found', (path) => `File '${path}' does not exist`);
export const isDirectory = ofPath('invalid_value', (path) => `'${path}' is a directory`);
export const notDirectory = ofPath('invalid_value', (path) => `'${path}' is not a directory`);
export const isLink = ofPath(outside, (path) => `'${path}' is a symbolic link: links are not followed`);
export const notRegular = ofPath(outside, (path) => `'${path}' is a device, pipe or socket, not a file`);
export const hardLinked = ofPath(
  outside,
  (path) => `'${path}' has other hard links, which may lie outside the workspace`,
);
const tooLong = ofPath('invalid_value', () => 'The path is too long');
const alreadyThere = ofPath('invalid_value', (path) => `'${path}' already exists`);

/** An error of the directory of all workspaces, which the operator must fix. */
const unavailable = (message: string, cause: unknown) =>
  // The system's message names the host path: /health/ready and its log line report that to the operator.
  new AppError('workspace_unavailable', message, { cause: Object.assign(new Error(), { code: errorCode(cause) }) });
const storageFails = (cause: unknown) => unavailable('The storage of workspaces cannot be used at the moment', cause);

/** Errors of a session's own directory are the storage's, unless a link has replaced the directory. */
export function toStorageError(error: unknown, hostPath: string): unknown {
  const ofPlace = ['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '');
  return ofPlace && !isLinkNow(hostPath) ? storageFails(error) : toFileError(error, '.');
}

function isLinkNow(hostPath: string): boolean {
  try {
    return lstatSync(hostPath).isSymbolicLink();
  } catch {
    return false;
  }
}

const noPermission = (path: string, cause: unknown) =>
  new AppError('tool_failed', `Permission denied: '${path}'`, { cause });
const tooManyOpen = (_path: string, cause: unknown) =>
  new AppError('tool_failed', 'Too many files are open, try again', { http: 503, retryAfterSeconds: 1, cause });

const kinds: readonly [codes: string, (path: string, cause: unknown) => AppError][] = [
  ['ENOENT', notFound],
  ['ELOOP', isLink],
  ['EISDIR', isDirectory],
  ['ENOTDIR', notDirectory],
  ['ENXIO ENODEV', notRegular],
  ['EACCES EPERM', noPermission],
  ['ENAMETOOLONG', tooLong],
  ['EEXIST ENOTEMPTY', alreadyThere],
  ['ENOSPC EDQUOT', (_path, cause) => diskFull(cause)],
  ['EFBIG', (_path, cause) => unavailable('No space is left for workspaces', cause)],
  ['EROFS EIO ESTALE', (_path, cause) => storageFails(cause)],
  ['EMFILE ENFILE', tooManyOpen],
];
const byCode = new Map(kinds.flatMap(([codes, make]) => codes.split(' ').map((code) => [code, make] as const)));

export const toFileError = (error: unknown, path: string): unknown =>
  byCode.get(errorCode(error) ?? '')?.(path, error) ?? error;
