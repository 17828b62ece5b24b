// Converts a lost connection to an error that BullMQ recognises as one: any other error fails the running job.
import { isStoreAway } from '#libs/store-error/store-error.js';

class StoreAway extends Error {
  /** By this code BullMQ tells an unavailable store from a step that failed. */
  readonly code = 'ECONNREFUSED';

  constructor(cause: unknown) {
    super('The store is not reachable', { cause });
  }
}

export async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw inItsWords(error);
  }
}

/** Converts an error that was already caught. */
export const inItsWords = (error: unknown): unknown => (isStoreAway(error) ? new StoreAway(error) : error);
