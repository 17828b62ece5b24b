// Reads Google's error object, with the time to wait from its details.
import { isJsonObject, textOrEmpty, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { UpstreamErrorMember } from '../wire/read-upstream-error.js';

/** `{"error": {"code", "message", "status", "details": […]}}`: google.rpc.Status and its error details. */
export function readGeminiError(body: JsonObject): UpstreamErrorMember | undefined {
  const error = body['error'];
  if (typeof error === 'string') return { message: error, code: '' };
  if (!isJsonObject(error)) return undefined;
  const { code: status, message, status: code } = error;
  const details = Array.isArray(error['details']) ? error['details'].filter(isJsonObject) : [];
  const retryAfterSeconds = details.map(({ retryDelay }) => secondsOf(retryDelay)).find((delay) => delay !== undefined);
  // Google reports a wrong key as a bad request.
  const refusesGateway = details.some(({ reason }) => textOrEmpty(reason).startsWith('API_KEY_'));
  return {
    message: textOrEmpty(message),
    code: textOrEmpty(code).toLowerCase(),
    ...(typeof status === 'number' && status >= 400 && status < 600 && { status }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(refusesGateway && { refusesGateway }),
  };
}

/** `RetryInfo.retryDelay`: `34.4s`, or `{seconds, nanos}`. */
function secondsOf(delay: Json | undefined): number | undefined {
  if (isJsonObject(delay)) {
    const seconds = Number(delay['seconds'] ?? 0) + Number(delay['nanos'] ?? 0) / 1e9;
    return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
  }
  const match = typeof delay === 'string' ? /^(\d+(?:\.\d+)?)s$/.exec(delay) : null;
  return match === null ? undefined : Number(match[1]);
}
