// Renders an error in Anthropic's shape (https://platform.claude.com/docs/en/api/errors), with our code and the invalid
// field. The HTTP status is the same in every API.
import type { AppError, ErrorType } from '#libs/schemas/errors.js';
import type { WireError, WireErrorType } from './wire-types.js';

const types: Record<ErrorType, WireErrorType> = {
  invalid_request_error: 'invalid_request_error',
  authentication_error: 'authentication_error',
  permission_error: 'permission_error',
  conflict_error: 'conflict_error',
  tool_execution_error: 'invalid_request_error',
  rate_limit_error: 'rate_limit_error',
  internal_error: 'api_error',
  upstream_error: 'api_error',
  overloaded_error: 'overloaded_error',
  timeout_error: 'timeout_error',
};

/** Makes the SDK's tool runner send all messages, since threads are not supported. */
const withoutThreads = { error_code: 'thread_unsupported_request' as const, unsupported: ['thread'] };

function typeOf(error: AppError): WireErrorType {
  if (error.http === 404) return 'not_found_error';
  if (error.http === 413) return 'request_too_large';
  return types[error.row.type];
}

export function renderMessageError(error: AppError, requestId: string): WireError {
  return {
    type: 'error',
    error: {
      type: typeOf(error),
      message: error.message,
      code: error.code,
      param: error.param,
      details: error.param === 'thread' ? withoutThreads : undefined,
      tool_name: error.toolName,
    },
    request_id: requestId,
  };
}
