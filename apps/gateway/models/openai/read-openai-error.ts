// Where an OpenAI-compatible upstream keeps its error, in each of the shapes that are known. What it means for our caller
// is said in read-upstream-error.ts.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { UpstreamErrorMember } from '../wire/read-upstream-error.js';

/** `{"error": {…}}`, `{"error": "…"}`, vLLM's `{"object":"error", …}`, FastAPI's `{"detail": …}` beside no choices. */
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

/** A whole body of an error status: there a bare `message` is one too. */
export function readOpenAiError(body: JsonObject): UpstreamErrorMember | undefined {
  return readErrorMember(body) ?? (text(body['message']) === '' ? undefined : member(body));
}

/** What a limit is called in `code` or `type` (OpenAI, Groq, Moonshot), also where the status is 200. */
const limits = new Set(['rate_limit_exceeded', 'rate_limit_error', 'rate_limit_reached_error']);

function member(error: JsonObject): UpstreamErrorMember {
  const { code, param, message, type } = error;
  const isLimit = limits.has(text(code)) || limits.has(text(type));
  const status = isLimit ? 429 : Number(typeof code === 'string' && !/^\d{3}$/.test(code) ? Number.NaN : code);
  return {
    message: text(message),
    code: typeof code === 'string' ? code : text(type),
    ...(typeof param === 'string' && param !== '' && { param: param.slice(0, 100) }),
    ...(status >= 400 && status < 600 && { status }),
  };
}

const text = (value: Json | undefined) => (typeof value === 'string' ? value : '');
