// What every set of backing services must do. A new set gives `makeStore` and passes all of it.
import { describe } from 'vitest';
import { channelConformance } from './backing-channel-conformance.js';
import { faultConformance } from './backing-fault-conformance.js';
import { memoryConformance } from './backing-memory-conformance.js';
import { processConformance } from './backing-process-conformance.js';
import { queueConformance } from './backing-queue-conformance.js';
import type { MakeStore } from './conformance-store.js';

export function backingConformance(set: string, makeStore: MakeStore): void {
  describe(`backing on ${set}`, () => {
    queueConformance(makeStore);
    channelConformance(makeStore);
    memoryConformance(makeStore);
    faultConformance(makeStore);
    processConformance(makeStore);
  });
}
