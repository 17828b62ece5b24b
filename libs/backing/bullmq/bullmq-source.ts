// The part of a set of backing services that BullMQ needs. The rest of the BullMQ code is the same for all sets.
import type { BackendFactory, IQueueBackend } from 'bullmq';
import type { Backing } from '../backing.js';

export interface BullmqSource {
  kind: Backing['kind'];
  factory: BackendFactory<IQueueBackend, unknown>;
  /** Whether an error means that the store is unavailable, so that the same step may succeed later. */
  isAway(error: unknown): boolean;
}
