// Our errors in JSON-RPC form: a number for clients, and our error in `data`, without cause, stack or path.
import { ProtocolError } from '@modelcontextprotocol/server';
import type { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';

const parseError = -32_700;
const invalidRequest = -32_600;
const invalidParams = -32_602;
const internalError = -32_603;

/** The error of a single parsed request. */
export function toProtocolError(error: AppError, requestId: string): ProtocolError {
  return new ProtocolError(
    isCallersFault(error) ? invalidParams : internalError,
    error.message,
    dataOf(error, requestId),
  );
}

/** The body of an answer to an HTTP request that was refused as a whole. `body`: the request's, if it was read. */
export function renderRpcError(error: AppError, requestId: string, body?: unknown): JsonObject {
  const refused = isCallersFault(error) ? invalidRequest : internalError;
  const code = error.code === 'invalid_json' ? parseError : refused;
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
