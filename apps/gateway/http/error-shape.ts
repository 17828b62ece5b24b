// In which shape a path tells its errors: each standard has its own, and a client that speaks it reads no other.
import { renderError } from '#libs/http-door/render-error.js';
import type { AppError } from '#libs/schemas/errors.js';
import { renderMessageError } from '../anthropic-api/render-message-error.js';

/** `url`: of the request, with its query. */
export function errorBody(url: string, error: AppError, requestId: string): object {
  const path = url.split('?', 1)[0]!;
  const anthropic = path === '/v1/messages' || path.startsWith('/v1/messages/');
  return anthropic ? renderMessageError(error, requestId) : renderError(error, requestId);
}
