// The JSON-RPC error of a read, a prompt or a completion that failed, without the words of unknown errors.
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { AppError } from '#libs/schemas/errors.js';
import { toProtocolError } from '../endpoint/rpc-error.js';

export function contentError(error: unknown, { requestId }: { requestId: string }): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (error instanceof AppError && error.code !== 'internal_error') return toProtocolError(error, requestId);
  return new ProtocolError(ProtocolErrorCode.InternalError, 'The request failed');
}
