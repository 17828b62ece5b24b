// Translates an upstream's failure to an error for our caller. Pure, and the only place that shows an upstream's own words:
// bounded, on one line, without secrets.
//
// | upstream                                   | ours                          | tried again |
// |--------------------------------------------|-------------------------------|-------------|
// | 400 413 422, context length in code or text| 400 context_length_exceeded   | no          |
// | 404 that speaks of a model                 | 404 model_not_found           | no          |
// | 400 422 with a message of its own          | 400 invalid_value (its param) | no          |
// | 413                                        | 413 request_too_large         | no          |
// | 429                                        | 429 rate_limit_exceeded       | yes, unless the quota is used up |
// | 401 402 403, any other 3xx and 4xx         | 502 model_error               | 408 409     |
// | 5xx                                        | 502 model_error               | yes, but 501 |
//
// 400 and 422 are the caller's errors because the upstream gets the caller's own request; the gateway's credentials,
// address and quota are not.
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type JsonObject, parseJson } from '#libs/schemas/json.js';
import type { UpstreamFailure } from '../resilience/open-with-retries.js';
import { readRetryAfter } from '../resilience/retry-after.js';

export interface UpstreamErrorMember {
  message: string;
  code: string;
  param?: string;
  /** Given in the error itself, if the HTTP status is 200. */
  status?: number;
  /** When to retry, if only the body says so. */
  retryAfterSeconds?: number;
  /** The gateway's own key or account is refused, whatever the status. */
  refusesGateway?: true;
}

export interface ErrorReader {
  ofStatus(status: number, headers: Record<string, string | string[] | undefined>, body: string): UpstreamFailure;
  /** For an error object inside an answer with status 200. */
  inAnswer(error: UpstreamErrorMember): AppError;
}

export interface ErrorReading {
  provider: string;
  /** The sentence for a refused key, if there is one; `words` are safe to show. Absent: for providers without an address. */
  keyRefused?(status: number, words: string): string;
  /** Values that are removed from every message. */
  secrets: string[];
  /** The error in a body, in the family's format. */
  readError(body: JsonObject): UpstreamErrorMember | undefined;
}

export function createErrorReader({ provider, secrets, readError, keyRefused }: ErrorReading): ErrorReader {
  const failure = (status: number, said: UpstreamErrorMember | undefined, retryAfterSeconds?: number): AppError => {
    const words = safeWords(said?.message ?? '', secrets);
    const [code, http] = meaning(status, said);
    const message = messageOf(status, code, words, said?.refusesGateway === true);
    const param = code === 'invalid_value' ? said?.param : undefined;
    return new AppError(code, message, {
      upstreamStatus: status,
      ...(http !== undefined && { http }),
      ...(param !== undefined && { param }),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds: Math.ceil(retryAfterSeconds) }),
    });
  };
  function messageOf(status: number, code: AppError['code'], words: string, refusesGateway: boolean): string {
    // The provider's own words on a wrong key may repeat parts of it.
    const refused = code === 'model_error' && (status === 401 || refusesGateway);
    if (keyRefused !== undefined && (refused || (code === 'model_error' && status === 403))) {
      return keyRefused(status, refused ? '' : words);
    }
    const shown = refused ? 'the gateway’s credentials were refused' : words;
    return `Model provider '${provider}' answered ${status}${shown === '' ? '' : `: ${shown}`}`;
  }
  return {
    ofStatus: (status, headers, body) => {
      const said = parseBody(body, readError);
      const retryAfterSeconds = readRetryAfter(headers, Date.now()) ?? said?.retryAfterSeconds;
      const error = failure(status, said, retryAfterSeconds ?? (status === 429 ? 1 : undefined));
      const again = retryable(status) && !usedUp.has(said?.code ?? '');
      return { error, retryable: again, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
    },
    inAnswer: (said) => {
      if (said.status !== undefined)
        return failure(said.status, said, said.retryAfterSeconds ?? (said.status === 429 ? 1 : undefined));
      const words = safeWords(said.message, secrets);
      const code = isContextLength(said) ? 'context_length_exceeded' : 'model_error';
      return new AppError(code, `Model provider '${provider}' failed${words === '' ? '' : `: ${words}`}`);
    },
  };
}

function meaning(status: number, said: UpstreamErrorMember | undefined): [AppError['code'], number?] {
  if (said !== undefined && (status === 400 || status === 413 || status === 422) && isContextLength(said)) {
    return ['context_length_exceeded'];
  }
  if (status === 413) return ['request_too_large'];
  if (status === 429) return ['rate_limit_exceeded'];
  if (said === undefined || said.message === '' || said.refusesGateway === true) return ['model_error'];
  if (status === 404 && (said.code.includes('model') || /\bmodels?\b/i.test(said.message))) return ['model_not_found'];
  return status === 400 || status === 422 ? ['invalid_value'] : ['model_error'];
}

function isContextLength(said: UpstreamErrorMember): boolean {
  if (said.code === 'context_length_exceeded') return true;
  return /context.{0,20}(length|window|size|limit)|maximum context|too many (input )?tokens|(prompt|input) is too long|token count.{0,30}exceeds/i.test(
    said.message,
  );
}

/** OpenAI's and Moonshot's codes for a used-up quota, where waiting does not help. */
const usedUp = new Set(['insufficient_quota', 'exceeded_current_quota_error']);

const retryable = (status: number) =>
  status === 408 || status === 409 || status === 429 || (status >= 500 && status !== 501);

function parseBody(body: string, readError: ErrorReading['readError']): UpstreamErrorMember | undefined {
  const parsed = parseJson(body);
  // Gemini wraps its error in a list.
  const object = Array.isArray(parsed) ? parsed[0] : parsed;
  return isJsonObject(object) ? readError(object) : undefined;
}

function safeWords(words: string, secrets: string[]): string {
  let safe = words;
  for (const secret of secrets) safe = safe.replaceAll(secret, '[redacted]');
  return safe
    .replace(/\b(?:sk|pk|rk|gsk|xai|sb)[-_][\w*-]{6,}/g, '[redacted]')
    .replace(/\bAIza[\w-]{10,}/g, '[redacted]')
    .replace(/\bBearer\s+\S+/gi, 'Bearer [redacted]')
    .replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ')
    .trim()
    .slice(0, 500);
}
