// How much garbage a process of ours carries. It sets no limit: what a turn needs, it gets.
import { setFlagsFromString } from 'node:v8';

export const heapGrowthFlag = '--heap-growing-percent=50';

/**
 * Collects when the heap has grown by half of what lived in it. With much memory in the machine V8 would let it grow to
 * four times that, which looks like a leak for hours. A V8 without this flag says so in a line and goes on.
 */
export function boundHeapGrowth(): void {
  setFlagsFromString(heapGrowthFlag);
}
