// A lost connection in the words that BullMQ takes for one: anything else fails the job that is under way.
import { isStoreAway } from '#libs/store-error/store-error.js';

class StoreAway extends Error {
  /** BullMQ goes by this code to tell a store that is away from a step that failed. */
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

/** The same of an error that has been caught already. */
export const inItsWords = (error: unknown): unknown => (isStoreAway(error) ? new StoreAway(error) : error);
