// Keeps a number of units of work under way for a time, and says how long they took. Every one that began is waited for, so
// that rows can be counted afterwards. For processes of the bench, which are spoken to by messages.

export interface Busy {
  inFlight: number;
  forMs: number;
  /** Ends earlier after so many. */
  atMost?: number;
}

export interface LoadResult {
  requests: number;
  elapsedMs: number;
  p50Ms: number;
  p99Ms: number;
  /** To the first bytes of the answer, median; where there are such. */
  firstBytesMs: number;
  /** What came instead of what was asked for; the first few. */
  failures: string[];
}

/** `one` resolves with the time to its first bytes where it has one, ms, and throws what was wrong. */
export async function keepBusy(busy: Busy, one: () => Promise<number | void>): Promise<LoadResult> {
  const took: number[] = [];
  const first: number[] = [];
  const failures: string[] = [];
  const began = performance.now();
  const until = began + busy.forMs;
  let left = busy.atMost ?? Infinity;
  const again = async () => {
    while (performance.now() < until && left-- > 0) {
      const startedAt = performance.now();
      try {
        const firstMs = await one();
        if (firstMs !== undefined) first.push(firstMs);
      } catch (error) {
        if (failures.length < 3) failures.push(error instanceof Error ? error.message : String(error));
      }
      took.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: busy.inFlight }, again));
  const elapsedMs = performance.now() - began;
  return {
    requests: took.length,
    elapsedMs,
    p50Ms: quantile(took, 0.5),
    p99Ms: quantile(took, 0.99),
    firstBytesMs: quantile(first, 0.5),
    failures,
  };
}

function quantile(values: number[], at: number): number {
  const sorted = values.sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? Number.NaN;
}

/** Does what the bench asks for until it is gone. */
export function answerTheBench(run: (busy: Busy) => Promise<LoadResult>): void {
  process.on('message', (busy: Busy) => {
    run(busy).then(
      (result) => process.send!(result),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.once('disconnect', () => process.exit(0));
}
