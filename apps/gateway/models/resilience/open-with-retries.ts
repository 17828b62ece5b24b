// Opens an answer, trying again after failures that a later try may not have: 429, 5xx, connection errors and timeouts,
// all before the first byte, within the provider's budget of retries. Every retry is told to the observer; nothing is
// retried once an answer has begun.
import { setTimeout as pause } from 'node:timers/promises';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { HttpClient } from '#libs/http-client/http-client.js';
import type { HttpAnswer, HttpCall, HttpRequest } from '#libs/http-client/outgoing.js';
import { AppError } from '#libs/schemas/errors.js';
import { longestRetryAfterMs, retryDelayMs } from './retry-after.js';
import type { RetryBudget } from './retry-budget.js';

export interface RetryPolicy {
  maxRetries: number;
  budget: RetryBudget;
  /** An answer that is not 2xx, as an error; closes the answer. */
  toError(answer: HttpAnswer): Promise<UpstreamFailure>;
  onRetry(attempt: number, error: AppError, waitMs: number): void;
  /** The failure is the last: the budget has no retry left. */
  onRefused(attempt: number, error: AppError): void;
}

export interface UpstreamFailure {
  error: AppError;
  /** Whether the same request may succeed later. */
  retryable: boolean;
  /** As the upstream asked for, to the millisecond. */
  retryAfterSeconds?: number;
}

/** @throws AppError the last failure */
export async function openWithRetries(
  client: HttpClient,
  request: HttpRequest,
  call: HttpCall,
  policy: RetryPolicy,
): Promise<HttpAnswer> {
  policy.budget.called();
  for (let attempt = 1; ; attempt += 1) {
    const { answer, failure } = await tryOnce(client, request, call, policy);
    if (answer !== undefined) return answer;
    const { error, retryable, retryAfterSeconds } = failure;
    const waitMs = retryDelayMs(attempt, retryAfterSeconds);
    const tooLate = waitMs > longestRetryAfterMs || steadyNow() + waitMs >= call.deadline;
    if (!retryable || attempt > policy.maxRetries || tooLate || call.signal.aborted) throw error;
    if (!policy.budget.take()) {
      policy.onRefused(attempt, error);
      throw error;
    }
    policy.onRetry(attempt, error, waitMs);
    try {
      await pause(waitMs, undefined, { signal: call.signal });
    } catch {
      const reason: unknown = call.signal.reason;
      throw reason instanceof AppError ? reason : new AppError('cancelled', 'The model call was cancelled');
    }
  }
}

type Tried = { answer: HttpAnswer; failure?: undefined } | { answer?: undefined; failure: UpstreamFailure };

async function tryOnce(client: HttpClient, request: HttpRequest, call: HttpCall, policy: RetryPolicy): Promise<Tried> {
  try {
    const answer = await client.open(request, call);
    if (answer.status >= 200 && answer.status < 300) return { answer };
    return { failure: await policy.toError(answer) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { failure: { error, retryable: error.code === 'model_error' || error.code === 'model_timeout' } };
  }
}
