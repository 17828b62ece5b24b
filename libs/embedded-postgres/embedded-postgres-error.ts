// Errors of the embedded PostgreSQL. Messages are for whoever started the process: they name paths and settings, so they
// never become an answer over HTTP.

export type EmbeddedPostgresErrorCode =
  /** There are no binaries for this machine. */
  | 'unsupported_platform'
  /** This user cannot run the binaries as a server. */
  | 'cannot_run'
  | 'data_dir_unusable'
  | 'already_running'
  /** The data was written by another major version. */
  | 'wrong_version'
  | 'start_failed'
  /** The server ended though nobody stopped it. */
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

/** Explains a failed file operation below the data directory by the setting that moves it. */
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
