// Renders an error in the shape that the standard of the route requires.
import { renderError } from '#libs/http-server/render-error.js';
import { renderRpcError } from '#libs/mcp-server/endpoint/rpc-error.js';
import type { AppError } from '#libs/schemas/errors.js';
import { renderMessageError } from '../anthropic-api/render-message-error.js';

/** `body` is undefined if it was not read. */
export function errorBody(request: { url: string; body?: unknown }, error: AppError, requestId: string): object {
  const path = request.url.split('?', 1)[0]!;
  if (path === '/mcp' || path === '/sse' || path === '/sse/messages')
    return renderRpcError(error, requestId, request.body);
  const anthropic = path === '/v1/messages' || path.startsWith('/v1/messages/');
  return anthropic ? renderMessageError(error, requestId) : renderError(error, requestId);
}
