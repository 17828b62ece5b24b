// Opens an answer and retries failures that may be temporary: 429, 5xx, connection errors and timeouts before the first
// byte, as far as the provider's circuit breaker allows. The observer hears of every retry. Nothing is retried once an
// answer has begun.
import { setTimeout as pause } from 'node:timers/promises';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { HttpClient } from '#libs/http-client/http-client.js';
import type { HttpAnswer, HttpCall, HttpRequest } from '#libs/http-client/outgoing.js';
import { AppError } from '#libs/schemas/errors.js';
import { longestRetryAfterMs, retryDelayMs } from './retry-after.js';

export interface RetryPolicy {
  client: HttpClient;
  maxRetries: number;
  /** Takes a retry, if the upstream may get one more. */
  mayRetry(): boolean;
  /** Converts an answer that is not 2xx to an error, and closes the answer. */
  toError(answer: HttpAnswer): Promise<UpstreamFailure>;
}

export interface UpstreamFailure {
  error: AppError;
  /** Whether the same request may succeed later. */
  retryable: boolean;
  /** As requested by the upstream, with millisecond precision. */
  retryAfterSeconds?: number;
}

/** @throws AppError the last failure */
export async function openWithRetries(
  request: HttpRequest,
  call: HttpCall,
  policy: RetryPolicy,
  onRetry: (attempt: number, error: AppError, waitMs: number) => void,
): Promise<HttpAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    let failure: UpstreamFailure;
    try {
      const answer = await policy.client.open(request, call);
      if (answer.status >= 200 && answer.status < 300) return answer;
      failure = await policy.toError(answer);
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      failure = { error: thrown, retryable: thrown.code === 'model_error' || thrown.code === 'model_timeout' };
    }
    const { error, retryable, retryAfterSeconds } = failure;
    const waitMs = retryDelayMs(attempt, retryAfterSeconds);
    const tooLate = waitMs > longestRetryAfterMs || steadyNow() + waitMs >= call.deadline;
    if (!retryable || attempt > policy.maxRetries || tooLate || call.signal.aborted || !policy.mayRetry()) throw error;
    onRetry(attempt, error, waitMs);
    try {
      await pause(waitMs, undefined, { signal: call.signal });
    } catch {
      const reason: unknown = call.signal.reason;
      throw reason instanceof AppError ? reason : new AppError('cancelled', 'The model call was cancelled');
    }
  }
}
