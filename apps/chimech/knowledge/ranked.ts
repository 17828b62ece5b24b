// Lists of documents by rank, and how two of them become one.

/** A document in a list, with its best passage. */
export interface Ranked {
  documentId: string;
  passageId: string;
  score: number;
  /** Milliseconds since 1970. */
  dateMs: number;
}

/** Of Cormack, Clarke and Büttcher (SIGIR 2009), who introduced it: how little the first places differ. */
const flatness = 60;

/** Reciprocal rank fusion. The passage is that of the first list which has the document. */
export function fuse(lists: readonly (readonly Ranked[])[]): Ranked[] {
  const fused = new Map<string, Ranked>();
  for (const list of lists) {
    for (const [rank, ranked] of list.entries()) {
      const score = 1 / (flatness + rank + 1);
      const known = fused.get(ranked.documentId);
      if (known === undefined) fused.set(ranked.documentId, { ...ranked, score });
      else known.score += score;
    }
  }
  return [...fused.values()].sort(byScore);
}

/** Equal ones by their ids: pages of one search must not overlap. */
export function byScore(one: Ranked, other: Ranked): number {
  return other.score - one.score || byId(one, other);
}

export function byDate(one: Ranked, other: Ranked): number {
  return other.dateMs - one.dateMs || byId(one, other);
}

const byId = (one: Ranked, other: Ranked) => (one.documentId < other.documentId ? -1 : 1);
