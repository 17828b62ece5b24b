// Parses file names of tools, models and callers into components. Pure: reads no disk, follows nothing.
// Refuses names that could lead outside; encoded and look-alike forms are ordinary names here.
import { AppError } from '#libs/schemas/errors.js';

/** The name of a session's directory outside the worker; no host path is ever shown. */
export const shownWorkspacePath = (sessionId: string): string => `/mcp_workspaces/${sessionId}`;

/** The session's own directory for temporary files, which `/tmp/…` refers to. */
export const temporaryDirectory = '.tmp';

/** Short-lived names of the workspace itself; never listed, never a caller's. */
export const reservedPrefix = '.signalbox-';

const maxPathBytes = 4_096;
const maxNameBytes = 255;

/**
 * The components of a path below the session's directory, without `.` and empty ones; none for the directory itself.
 * @throws AppError invalid_value (malformed), path_outside_workspace (another place).
 */
export function parsePath(path: string, sessionId: string): string[] {
  if (path === '') throw invalid('A path must not be empty');
  if (path.includes('\0')) throw invalid('A path must not contain NUL');
  if (/\p{Surrogate}/u.test(path)) throw invalid('A path must be well-formed Unicode');
  if (Buffer.byteLength(path) > maxPathBytes) throw invalid(`A path may have at most ${maxPathBytes} bytes`);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) throw outside('A path is not a URL');
  const names = below(path, sessionId).filter((name) => name !== '' && name !== '.');
  names.forEach(checkName);
  return names;
}

function below(path: string, sessionId: string): string[] {
  const parts = path.split('/');
  if (!path.startsWith('/')) {
    if (parts[0] === '~') throw outside("'~' is not expanded: paths are relative to the workspace");
    return parts;
  }
  const names = parts.filter((name) => name !== '' && name !== '.');
  if (names[0] === 'tmp') return [temporaryDirectory, ...names.slice(1)];
  if (names[0] === 'mcp_workspaces' && names[1] === sessionId) return names.slice(2);
  throw outside(
    `Absolute paths other than ${shownWorkspacePath(sessionId)}/… and /tmp/… are outside the workspace: use a relative path`,
  );
}

function checkName(name: string): void {
  if (name === '..') throw outside("'..' is not allowed in a path");
  if (Buffer.byteLength(name) > maxNameBytes) throw invalid(`A name may have at most ${maxNameBytes} bytes`);
  if (name.startsWith(reservedPrefix)) throw invalid(`Names that begin with '${reservedPrefix}' are reserved`);
  if (process.platform === 'win32' && /[\\:]/.test(name)) throw invalid('A name must not contain a backslash or colon');
}

/** The path shown to readers for these components. */
export const shownPath = (names: readonly string[]): string => (names.length === 0 ? '.' : names.join('/'));

const invalid = (message: string) => new AppError('invalid_value', message, { param: 'path' });
const outside = (message: string) => new AppError('path_outside_workspace', message, { param: 'path' });
