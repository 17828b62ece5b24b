// What every set of backing services must do. A new set gives `makeStore` and passes all of it.
import { describe } from 'vitest';
import { channelConformance } from './backing-channel-conformance.js';
import { concurrencyConformance } from './backing-concurrency-conformance.js';
import { faultConformance } from './backing-fault-conformance.js';
import { keptConformance } from './backing-kept-conformance.js';
import { memoryConformance } from './backing-memory-conformance.js';
import { processConformance } from './backing-process-conformance.js';
import { queueConformance } from './backing-queue-conformance.js';
import { togetherConformance } from './backing-together-conformance.js';
import type { MakeStore } from './conformance-store.js';

export interface ConformanceOptions {
  /** What this machine lacks for the set, which is then skipped by that name. */
  missing?: string | undefined;
  /** False: the parts that wait for locks to run out and silent servers to be found are proved on another layout. */
  slowFaults?: boolean;
}

export function backingConformance(set: string, makeStore: MakeStore, options: ConformanceOptions = {}): void {
  const { missing, slowFaults = true } = options;
  describe.skipIf(missing !== undefined)(`backing on ${set}${missing === undefined ? '' : ` (${missing})`}`, () => {
    queueConformance(makeStore);
    togetherConformance(makeStore);
    keptConformance(makeStore);
    channelConformance(makeStore);
    memoryConformance(makeStore);
    concurrencyConformance(makeStore);
    if (!slowFaults) return;
    faultConformance(makeStore);
    processConformance(makeStore);
  });
}
