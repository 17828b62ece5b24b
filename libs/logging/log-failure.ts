// The one line in the log of a failure that a caller was told of.
import type { AppError } from '#libs/schemas/errors.js';
import { hideHostPaths } from './describe-error.js';
import type { Logger } from './logger.js';

export function logFailure(logger: Logger, error: AppError, requestId: string): void {
  const message = `${error.code}: ${hideHostPaths(error.message)}`;
  logger[error.row.level]({ requestId, error: error.cause ?? error }, message);
}
