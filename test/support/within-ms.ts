// Converts promised times to what a test can expect on a busy machine.
import { availableParallelism, loadavg } from 'node:os';

/** The promised time if a core is free; longer in proportion to the load by others. */
export function withinMs(promisedMs: number): number {
  const busy = loadavg()[0]! / (2 * availableParallelism());
  return promisedMs * Math.max(1, busy);
}
