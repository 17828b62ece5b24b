// Anthropic's error object, as a body of its own and as an event inside a stream.
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { UpstreamErrorMember } from '../wire/read-upstream-error.js';

/** The status that each type has when it comes before the stream. */
const statuses = new Map<string, number>([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
]);

/** `{"type": "error", "error": {"type", "message"}}`; the outer type may be missing, or the inner object. */
export function readAnthropicError(body: JsonObject): UpstreamErrorMember | undefined {
  const said = body['error'];
  if (typeof said === 'string') return { message: said, code: '' };
  const error = isJsonObject(said) ? said : body['type'] === 'error' ? body : undefined;
  if (error === undefined) return undefined;
  const code = typeof error['type'] === 'string' ? error['type'] : '';
  const message = typeof error['message'] === 'string' ? error['message'] : '';
  const status = statuses.get(code);
  return {
    message,
    code,
    ...(status !== undefined && { status }),
    // An empty account is told as a bad request.
    ...(/credit balance/i.test(message) && { refusesGateway: true }),
  };
}
