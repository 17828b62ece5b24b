// Our errors in JSON-RPC form: a number for clients, and our error in `data`, without cause, stack or path.
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';

/** The error of a single parsed request. */
export function toProtocolError(error: AppError, requestId: string): ProtocolError {
  const code = isCallersFault(error) ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  return new ProtocolError(code, error.message, dataOf(error, requestId));
}

/** The body of an answer to an HTTP request that was refused as a whole. `body`: the request's, if it was read. */
export function renderRpcError(error: AppError, requestId: string, body?: unknown): JsonObject {
  const refused = isCallersFault(error) ? ProtocolErrorCode.InvalidRequest : ProtocolErrorCode.InternalError;
  const code = error.code === 'invalid_json' ? ProtocolErrorCode.ParseError : refused;
  return {
    jsonrpc: '2.0',
    error: { code, message: error.message, data: dataOf(error, requestId) },
    id: idOf(body),
  };
}

function isCallersFault({ http }: AppError): boolean {
  return http < 500 && http !== 429;
}

function dataOf(error: AppError, requestId: string): JsonObject {
  return {
    code: error.code,
    type: error.row.type,
    request_id: requestId,
    ...(error.param === undefined ? {} : { param: error.param }),
    ...(error.toolName === undefined ? {} : { tool_name: error.toolName }),
    ...(error.retryAfterSeconds === undefined ? {} : { retry_after: error.retryAfterSeconds }),
  };
}

/** Null if there is no single request with a readable id. */
function idOf(body: unknown): string | number | null {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || !('method' in body)) return null;
  const id = 'id' in body ? body.id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
