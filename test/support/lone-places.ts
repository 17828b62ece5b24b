// The places of a process that has no others beside it, and therefore asks no store.
import { SharedPlaces } from '#libs/limits/shared-places.js';
import { silentLogger } from '#libs/logging/logger.js';

export const lonePlaces = (): SharedPlaces =>
  new SharedPlaces({
    counters: { sharePlaces: () => Promise.reject(new Error('There is no store')) },
    holder: 'alone',
    isAlone: () => true,
    logger: silentLogger,
  });
