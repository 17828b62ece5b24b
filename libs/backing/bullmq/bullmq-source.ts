// What a set of backing services gives BullMQ to work with. The rest of the BullMQ code is the same for all sets.
import type { BackendFactory, IQueueBackend } from 'bullmq';
import type { Backing } from '../backing.js';

export interface BullmqSource {
  kind: Backing['kind'];
  factory: BackendFactory<IQueueBackend, unknown>;
  /** Whether an error says that the store is away, so that the same step may succeed later. */
  isAway(error: unknown): boolean;
}
