// How V8 keeps the heap of a process of ours. It sets no limit: what a turn needs, it gets.
import { setFlagsFromString } from 'node:v8';

export const heapFlags = [
  // Collect when the heap has grown by half of what lived in it. With much memory in the machine V8 would let it grow to
  // four times that, which looks like a leak for hours.
  '--heap-growing-percent=50',
  // Every object begins young. V8 learns from the first seconds which places of the code make objects that live long, and
  // was wrong about the closures of a request: they began old, and kept all of their request until the next full
  // collection.
  '--no-allocation-site-pretenuring',
] as const;

/** First of all that a process does. A V8 without one of these flags says so in a line and goes on. */
export function tuneHeap(): void {
  for (const flag of heapFlags) setFlagsFromString(flag);
}
