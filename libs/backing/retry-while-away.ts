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
        // An AppError has been judged where it was thrown: a store that is closed or full is so for the next try too.
        const again = isStoreAway(error) && !(error instanceof AppError);
        if (!again || signal.aborted || performance.now() + 2 * pauseMs >= giveUpAt) throw error;
        await pause(pauseMs);
      }
    }
  });
}
