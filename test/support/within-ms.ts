// Promised times, as a test may hold them on a machine that also does other things.
import { availableParallelism, loadavg } from 'node:os';

/** As promised where a core is free; longer by as much as others keep the cores busy. */
export function withinMs(promisedMs: number): number {
  const busy = loadavg()[0]! / (2 * availableParallelism());
  return promisedMs * Math.max(1, busy);
}
