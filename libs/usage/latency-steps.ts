// Counts how long something took in steps that grow by a fifth, so that counts of hours and of processes can be added up.

/** Step `n` goes up to this factor to the power of `n`, in ms; the last one has no end. */
const growth = 1.2;
export const latencySteps = 90;

/** `counts` grows as far as its highest step. */
export function countLatency(counts: number[], tookMs: number): void {
  const step = Math.min(latencySteps - 1, Math.max(0, Math.ceil(Math.log(Math.max(1, tookMs)) / Math.log(growth))));
  while (counts.length <= step) counts.push(0);
  counts[step]! += 1;
}

export const sumLatencies = (rows: readonly (readonly number[])[]): number[] =>
  Array.from({ length: latencySteps }, (_, step) => rows.reduce((total, row) => total + (row[step] ?? 0), 0));

/** The upper end of the step in which the share is reached, in ms; undefined without counts. */
export function percentileOf(counts: readonly number[], share: number): number | undefined {
  const wanted = counts.reduce((total, count) => total + count, 0) * share;
  if (wanted === 0) return undefined;
  let seen = 0;
  const step = counts.findIndex((count) => (seen += count) >= wanted);
  return Math.round(growth ** step);
}
