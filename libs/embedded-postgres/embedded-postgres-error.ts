// Why the embedded PostgreSQL could not be had. Its messages are for whoever started the process: they name paths and
// settings, so they never become an answer over HTTP.

export type EmbeddedPostgresErrorCode =
  /** No binaries for this machine. */
  | 'unsupported_platform'
  /** The binaries are there and this user cannot run them as a server. */
  | 'cannot_run'
  | 'data_dir_unusable'
  | 'already_running'
  /** The data was written by another major version. */
  | 'wrong_version'
  | 'start_failed'
  /** It ended though nobody stopped it. */
  | 'ended';

export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';

  constructor(
    readonly code: EmbeddedPostgresErrorCode,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

const unusable = new Set([
  'ENOENT',
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOSPC',
  'EDQUOT',
  'ENOTDIR',
  'ELOOP',
  'ENAMETOOLONG',
]);

/** A failed file operation below the data directory, told in terms of the setting that moves it. */
export function toDataDirError(error: unknown, dataDir: string): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === undefined || !unusable.has(code)) return error;
  return new EmbeddedPostgresError(
    'data_dir_unusable',
    `The data directory ${dataDir} cannot be used (${code}): set DATA_DIR to a directory that this user can write, ` +
      'or DATABASE_URL to a PostgreSQL of your own.',
    error,
  );
}
