// How V8 runs a process of ours: many requests through much code of which no part is hot. It sets no limit to the heap:
// what a turn needs, it gets.
import { setFlagsFromString } from 'node:v8';

/** From Node 22 on, V8 has a compiler that is quick itself, and another way to count. */
const hasMiddleCompiler = Number(process.versions.node.split('.', 1)[0]) >= 22;

export const v8Flags: readonly string[] = [
  // Every object begins young. V8 learns from the first seconds which places of the code make objects that live long, and
  // was wrong about the closures of a request: they began old, and kept all of their request until the next full
  // collection.
  '--no-allocation-site-pretenuring',
  // What survives among young objects is copied by the thread that stopped for it: it is little, and other processes want
  // the cores that helpers would be woken on.
  '--no-parallel-scavenge',
  // Simple machine code and counts from the first call of a function on: most of what a request runs is called once in it,
  // and would be interpreted for hundreds of requests.
  '--always-sparkplug',
  '--no-lazy-feedback-allocation',
  ...(hasMiddleCompiler
    ? []
    : // Compile after a third of the runs that V8 waits for: where no function is hot, speed comes sooner.
      ['--interrupt-budget=20000']),
];

/**
 * First of all that a process does. A V8 without one of these flags says so in a line and goes on.
 * @param growingPercent collect when the heap has grown by so much of what lived in it. With much memory in the machine V8
 * would let it grow to four times that, which looks like a leak for hours. Less is less memory for more collections.
 */
export function tuneV8(growingPercent: number): void {
  for (const flag of [heapGrowing(growingPercent), ...v8Flags]) setFlagsFromString(flag);
}

export const smallFlags: readonly string[] = ['--max-semi-space-size=1', '--semi-space-growth-factor=1'];

/** For a process that has little to do and should hold little: the space of young objects does not grow, the heap by a fifth. */
export function keepV8Small(): void {
  for (const flag of [heapGrowing(20), ...smallFlags]) setFlagsFromString(flag);
}

export const heapGrowing = (percent: number): string => `--heap-growing-percent=${percent}`;
