// Reads Anthropic's error object, from a body or from an event of a stream.
import { isJsonObject, textOrEmpty, type JsonObject } from '#libs/schemas/json.js';
import type { UpstreamErrorMember } from '../wire/read-upstream-error.js';

/** The HTTP status of each type when it is not in a stream. */
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

/** `{"type": "error", "error": {"type", "message"}}`; the outer type or the inner object may be missing. */
export function readAnthropicError(body: JsonObject): UpstreamErrorMember | undefined {
  const said = body['error'];
  if (typeof said === 'string') return { message: said, code: '' };
  const error = isJsonObject(said) ? said : body['type'] === 'error' ? body : undefined;
  if (error === undefined) return undefined;
  const code = textOrEmpty(error['type']);
  const message = textOrEmpty(error['message']);
  const status = statuses.get(code);
  return {
    message,
    code,
    ...(status !== undefined && { status }),
    // Anthropic reports an account without credit as a bad request.
    ...(/credit balance/i.test(message) && { refusesGateway: true }),
  };
}
