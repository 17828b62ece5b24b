// Converts the operating system's file errors to ones that a caller may see: with the path as the caller gave it.
import { lstatSync } from 'node:fs';
import { AppError } from '#libs/schemas/errors.js';
import { diskFull } from './free-space.js';

export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;

export const notFound = (path: string) =>
  new AppError('file_not_found', `File '${path}' does not exist`, { param: 'path' });
export const isDirectory = (path: string) =>
  new AppError('invalid_value', `'${path}' is a directory`, { param: 'path' });
export const notDirectory = (path: string) =>
  new AppError('invalid_value', `'${path}' is not a directory`, { param: 'path' });
export const isLink = (path: string) =>
  new AppError('path_outside_workspace', `'${path}' is a symbolic link: links are not followed`, { param: 'path' });
export const notRegular = (path: string) =>
  new AppError('path_outside_workspace', `'${path}' is a device, pipe or socket, not a file`, { param: 'path' });
export const hardLinked = (path: string) =>
  new AppError('path_outside_workspace', `'${path}' has other hard links, which may lie outside the workspace`, {
    param: 'path',
  });

/** For the directory of all workspaces, not a caller's path: the operator must fix it. */
const unavailable = (message: string, cause: unknown) =>
  // The system's message names the host path: /health/ready and its log line report that to the operator.
  new AppError('workspace_unavailable', message, { cause: Object.assign(new Error(), { code: errorCode(cause) }) });
const storageFails = (cause: unknown) => unavailable('The storage of workspaces cannot be used at the moment', cause);

/** For the session's own directory, which only we create: a failure is the storage's, unless a link has replaced it. */
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

export function toFileError(error: unknown, path: string): unknown {
  switch (errorCode(error) ?? '') {
    case 'ENOENT':
      return notFound(path);
    case 'ELOOP':
      return isLink(path);
    case 'EISDIR':
      return isDirectory(path);
    case 'ENOTDIR':
      return notDirectory(path);
    case 'ENXIO':
    case 'ENODEV':
      return notRegular(path);
    case 'EACCES':
    case 'EPERM':
      return new AppError('tool_failed', `Permission denied: '${path}'`, { cause: error });
    case 'ENAMETOOLONG':
      return new AppError('invalid_value', 'The path is too long', { param: 'path' });
    case 'EEXIST':
    case 'ENOTEMPTY':
      return new AppError('invalid_value', `'${path}' already exists`, { param: 'path' });
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull(error);
    case 'EFBIG':
      return unavailable('No space is left for workspaces', error);
    case 'EROFS':
    case 'EIO':
    case 'ESTALE':
      return storageFails(error);
    case 'EMFILE':
    case 'ENFILE':
      return new AppError('tool_failed', 'Too many files are open, try again', {
        http: 503,
        retryAfterSeconds: 1,
        cause: error,
      });
    default:
      return error;
  }
}
