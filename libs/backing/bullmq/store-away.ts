// Converts a lost connection to an error that BullMQ recognises as one: any other error fails the running job.
import { AppError } from '#libs/schemas/errors.js';
import { isStoreAway, StoreRefuses } from '#libs/store-error/store-error.js';

class StoreAway extends Error {
  /** By this code BullMQ tells an unavailable store from a step that failed. */
  readonly code = 'ECONNREFUSED';

  constructor(cause: unknown) {
    super(toldReason(cause), { cause });
  }
}

const toldReason = (cause: unknown) =>
  cause instanceof AppError || cause instanceof StoreRefuses ? cause.message : 'The store is not reachable';

/** A failure of `work` in BullMQ's words. */
export const told = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    throw inItsWords(error);
  });

/** Converts an error that was already caught. */
export const inItsWords = (error: unknown): unknown => (isStoreAway(error) ? new StoreAway(error) : error);
