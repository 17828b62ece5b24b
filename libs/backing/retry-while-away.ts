// The same step again while the store is away, for steps that do no harm when they happened before: a cut connection is
// then no reason to refuse a call.
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '#libs/schemas/errors.js';
import { isStoreAway, withinDeadline } from './store-error.js';

const pauseMs = 50;

/** @throws AppError store_unavailable at the deadline, or what the last try threw when there is no time for another */
export function retryWhileAway<T>(timeoutMs: number, signal: AbortSignal, step: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + timeoutMs;
  return withinDeadline(timeoutMs, signal, async () => {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        const again = isStoreAway(error) && !isJudged(error);
        if (!again || signal.aborted || performance.now() + 2 * pauseMs >= giveUpAt) throw error;
        await pause(pauseMs);
      }
    }
  });
}

/** An AppError, also below a driver's words for it, was judged where it was thrown: closed or full is so next time too. */
const isJudged = (error: unknown): boolean =>
  error instanceof AppError || (error instanceof Error && error.cause instanceof AppError);
