// An error as every API shows it: code, type and message, never a cause, a stack or a path.
import { type AppError, errorTable } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';

export function renderError(error: AppError, requestId: string): { error: JsonObject } {
  return {
    error: {
      message: error.message,
      type: errorTable[error.code].type,
      code: error.code,
      ...(error.param === undefined ? {} : { param: error.param }),
      ...(error.toolName === undefined ? {} : { tool_name: error.toolName }),
      ...(error.problems === undefined ? {} : { problems: error.problems.map((each) => ({ ...each })) }),
      request_id: requestId,
    },
  };
}
