// Repeats a step that is safe to repeat while the store is unavailable, so that a cut connection refuses no call. Nor does
// a slow store, as long as it answers any process.
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '#libs/schemas/errors.js';
import { isStoreAway, isUnanswered, withinDeadline, type Answering } from '#libs/store-error/store-error.js';

const pauseMs = 50;

export interface RetryBounds {
  /** How long the store may answer nothing, and how long its refusals are retried, ms. */
  timeoutMs: number;
  /** Bounds all attempts together. */
  signal: AbortSignal;
}

/** @throws AppError store_unavailable, or the last attempt's error if there is no time for another */
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

/** An AppError, also as the cause of a driver's error, is final: a closed or full store will still be so next time. */
const isJudged = (error: unknown): boolean =>
  error instanceof AppError || (error instanceof Error && error.cause instanceof AppError);
