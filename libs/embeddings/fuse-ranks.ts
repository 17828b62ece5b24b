// Makes one ranking of several by reciprocal ranks (Cormack, Clarke and Büttcher, SIGIR 2009): what is high in one of them is high, what is
// in both is higher. The scores of different rankings cannot be compared, places can.

/** As in the paper: how little the first places differ. */
const flatness = 60;

/** Best first, each item once, as the first ranking that has it gives it. Equal ones keep the order in which they were met. */
export function fuseRanks<T>(
  rankings: readonly (readonly T[])[],
  keyOf: (item: T) => unknown = (item) => item,
): { item: T; score: number }[] {
  const fused = new Map<unknown, { item: T; score: number }>();
  for (const ranking of rankings) {
    for (const [at, item] of ranking.entries()) {
      const score = 1 / (flatness + at + 1);
      const known = fused.get(keyOf(item));
      if (known === undefined) fused.set(keyOf(item), { item, score });
      else known.score += score;
    }
  }
  return [...fused.values()].sort((one, other) => other.score - one.score);
}
