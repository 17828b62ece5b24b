// V8 settings for our processes, which run many requests through much code without hot spots. The heap is not limited: a
// turn may use what it needs.
import { setFlagsFromString } from 'node:v8';

/** From Node 22 on, V8 has a fast middle compiler, counts calls differently, and gains nothing from these flags. */
const isNode20 = Number(process.versions.node.split('.', 1)[0]) < 22;

export const v8Flags: readonly string[] = [
  // Allocates all objects in the young generation. V8 learns early which code creates long-lived objects, but was wrong
  // about the closures of a request: they started in the old generation and kept the whole request until the next full
  // collection.
  '--no-allocation-site-pretenuring',
  // Compiles after a third of V8's usual number of runs, because no function is hot.
  '--interrupt-budget=20000',
];

/**
 * Call it before anything else. A V8 without one of these flags prints a line and continues.
 * @param growingPercent heap growth, in percent of live data, that triggers a collection. On machines with much memory V8
 * would allow four times that, which looks like a leak for hours. Smaller values trade memory for more collections.
 */
export function tuneV8(growingPercent: number): void {
  if (isNode20) for (const flag of [heapGrowing(growingPercent), ...v8Flags]) setFlagsFromString(flag);
}

export const smallFlags: readonly string[] = [
  '--max-semi-space-size=1',
  '--semi-space-growth-factor=1',
  // Frees fragmented pages: a few MB, for a few ms of each full collection.
  '--compact-on-every-full-gc',
  // The optimizing compiler keeps some of its memory: 5 MB for JavaScript, 36 MB for undici's parser in WebAssembly. Without
  // the compiler, a minute's calls take as long, but analysing half a megabyte of code four times as long, up to two seconds.
  '--no-opt',
  '--wasm-tiering-budget=2147483647',
];

/**
 * For a process with little to do: the young generation does not grow, and the heap grows by a fifth. V8 raises the growth
 * factor whenever it sets up the heap of another thread, so it is lowered after each start of a thread.
 */
export function keepV8Small(): void {
  const setFlags = () => {
    for (const flag of [heapGrowing(20), ...smallFlags]) setFlagsFromString(flag);
  };
  setFlags();
  process.on('worker', (worker) => worker.once('online', setFlags));
}

export const heapGrowing = (percent: number): string => `--heap-growing-percent=${percent}`;
