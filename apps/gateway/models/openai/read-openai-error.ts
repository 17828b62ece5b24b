// Finds the error in an OpenAI-compatible answer, in all known shapes. `wire/read-upstream-error.ts` decides what our
// caller gets.
import { isJsonObject, textOrEmpty, type JsonObject } from '#libs/schemas/json.js';
import type { UpstreamErrorMember } from '../wire/read-upstream-error.js';

/** `{"error": {…}}`, `{"error": "…"}`, vLLM's `{"object":"error", …}`, or FastAPI's `{"detail": …}` without `choices`. */
export function readErrorMember(body: JsonObject): UpstreamErrorMember | undefined {
  const error = body['error'];
  if (isJsonObject(error)) return member(error);
  if (typeof error === 'string' && error !== '') return { message: error, code: '' };
  if (body['object'] === 'error' || body['type'] === 'error') return member(body);
  if (body['choices'] !== undefined) return undefined;
  const detail = body['detail'];
  if (detail !== undefined && detail !== null) {
    return { message: typeof detail === 'string' ? detail : JSON.stringify(detail), code: '' };
  }
  return undefined;
}

/** For the body of an error status, where a bare `message` is an error too. */
export function readOpenAiError(body: JsonObject): UpstreamErrorMember | undefined {
  return readErrorMember(body) ?? (textOrEmpty(body['message']) === '' ? undefined : member(body));
}

/** The `code` or `type` of rate limits (OpenAI, Groq, Moonshot). The HTTP status may be 200. */
const limits = new Set(['rate_limit_exceeded', 'rate_limit_error', 'rate_limit_reached_error']);

function member(error: JsonObject): UpstreamErrorMember {
  const { code, param, message, type } = error;
  const isLimit = limits.has(textOrEmpty(code)) || limits.has(textOrEmpty(type));
  const status = isLimit ? 429 : Number(typeof code === 'string' && !/^\d{3}$/.test(code) ? Number.NaN : code);
  return {
    message: textOrEmpty(message),
    code: typeof code === 'string' ? code : textOrEmpty(type),
    ...(typeof param === 'string' && param !== '' && { param: param.slice(0, 100) }),
    ...(status >= 400 && status < 600 && { status }),
  };
}
