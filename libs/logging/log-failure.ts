// Logs one line for a failure that a caller was told of.
import type { AppError } from '#libs/schemas/errors.js';
import { hideHostPaths } from './describe-error.js';
import type { Logger } from './logger.js';
import { type LoggedRequest, requestFields } from './request-fields.js';

export function logFailure(logger: Logger, error: AppError, request: LoggedRequest): void {
  // Not `code: sentence` in one text: behind the name of a secret (`invalid_api_key: `) the redactor expects the secret.
  const metadata = { code: error.code };
  logger[error.row.level](
    { ...requestFields(request), error: error.cause ?? error, metadata },
    hideHostPaths(error.message),
  );
}
