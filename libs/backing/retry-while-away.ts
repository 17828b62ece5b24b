// The same step again while the store is away, for steps that do no harm when they happened before: a cut connection is
// then no reason to refuse a call. Nor is a store that is slow, for as long as it answers anybody.
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '#libs/schemas/errors.js';
import { isStoreAway, isUnanswered, withinDeadline, type Answering } from '#libs/store-error/store-error.js';

const pauseMs = 50;

export interface RetryBounds {
  /** How long the store may answer nobody, and how long its refusals are met with another try, ms. */
  timeoutMs: number;
  /** The whole is bounded by it. */
  signal: AbortSignal;
}

/** @throws AppError store_unavailable, or what the last try threw when there is no time for another */
export function retryWhileAway<T>(
  store: Answering,
  bounds: RetryBounds,
  step: (isRetry: boolean) => Promise<T>,
): Promise<T> {
  const { timeoutMs, signal } = bounds;
  const begunAt = performance.now();
  return withinDeadline({ timeoutMs, store }, signal, async () => {
    for (let isRetry = false; ; isRetry = true) {
      try {
        return await step(isRetry);
      } catch (error) {
        const again = isStoreAway(error) && !isJudged(error);
        const since = isUnanswered(error) ? Math.max(begunAt, store.answeredAt) : begunAt;
        if (!again || signal.aborted || performance.now() + 2 * pauseMs >= since + timeoutMs) throw error;
        await pause(pauseMs);
      }
    }
  });
}

/** An AppError, also below a driver's words for it, was judged where it was thrown: closed or full is so next time too. */
const isJudged = (error: unknown): boolean =>
  error instanceof AppError || (error instanceof Error && error.cause instanceof AppError);
