// Text as the index has it: words apart from each other by spaces, without their accents, so that PostgreSQL's parser finds
// nothing else in it. Scripts without spaces become pairs of neighbouring characters and single ones, so that
// any word of a query is found wherever it stands. Pairs find what is asked for, single characters what has it in other
// words.
import { charactersOf, pairsOf, plainWord, runsOf } from '#libs/words/script-runs.js';

/** Longer ones are data, not words. */
const maxWordLength = 64;

export function spacedText(text: string): string {
  const words: string[] = [];
  for (const run of runsOf(text)) {
    if (run.cjk) words.push(...pairsOf(run.text), ...charactersOf(run.text));
    else words.push(plainWord(run.text));
  }
  return words.filter((word) => word.length <= maxWordLength).join(' ');
}

/**
 * Pairs of neighbouring words as 32-bit numbers: those of an exact text are among those of the passages that have it. Others may
 * have the same numbers. Scripts without spaces have none.
 */
export function wordPairsOf(text: string): number[] {
  const pairs = new Set<number>();
  let before: string | undefined;
  for (const run of runsOf(text)) {
    const word = run.cjk ? undefined : plainWord(run.text);
    if (before !== undefined && word !== undefined) pairs.add(hashOf(`${before} ${word}`));
    before = word;
  }
  return [...pairs];
}

/** FNV-1a, of UTF-16 units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash | 0;
}
