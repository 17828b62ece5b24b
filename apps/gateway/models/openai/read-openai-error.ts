// Where an OpenAI-compatible upstream keeps its error, in each of the shapes that are known. What it means for our caller
// is said in read-upstream-error.ts.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { UpstreamErrorMember } from '../read-upstream-error.js';

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

function member(error: JsonObject): UpstreamErrorMember {
  const { code, param, message } = error;
  const status = typeof code === 'number' ? code : Number.NaN;
  return {
    message: text(message),
    code: typeof code === 'string' ? code : text(error['type']),
    ...(typeof param === 'string' && param !== '' && { param: param.slice(0, 100) }),
    ...(status >= 400 && status < 600 && { status }),
  };
}

const text = (value: Json | undefined) => (typeof value === 'string' ? value : '');
