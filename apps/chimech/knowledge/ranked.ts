// Lists of documents by rank, and how two of them become one.
import { fuseRanks } from '#libs/embeddings/fuse-ranks.js';

/** A document in a list, with its best passage. */
export interface Ranked {
  documentId: string;
  passageId: string;
  score: number;
  /** Milliseconds since 1970. */
  dateMs: number;
}

/** The passage is that of the first list which has the document. */
export function fuse(lists: readonly (readonly Ranked[])[]): Ranked[] {
  const fused = fuseRanks(lists, ({ documentId }) => documentId);
  return fused.map(({ item, score }) => ({ ...item, score })).sort(byScore);
}

/** Equal ones by their ids: pages of one search must not overlap. */
export function byScore(one: Ranked, other: Ranked): number {
  return other.score - one.score || byId(one, other);
}

export function byDate(one: Ranked, other: Ranked): number {
  return other.dateMs - one.dateMs || byId(one, other);
}

const byId = (one: Ranked, other: Ranked) => (one.documentId < other.documentId ? -1 : 1);
