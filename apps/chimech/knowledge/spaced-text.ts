// Text as the index has it: words apart from each other by spaces, without their accents, so that PostgreSQL's parser finds
// nothing else in it. Scripts without spaces become pairs of neighbouring characters and single ones: they need no dictionary,
// and any word of a query is found wherever it stands. Pairs find what is asked for, single characters what has it in other
// words.

const cjk = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}`;
/** Runs of characters without spaces between words, or words. */
const runs = new RegExp(`[${cjk}]+|(?:(?![${cjk}])[\\p{L}\\p{N}\\p{M}])+`, 'gu');
const startsCjk = new RegExp(`^[${cjk}]`, 'u');
/** Longer ones are data, not words. */
const maxWordLength = 64;

export interface ScriptRun {
  text: string;
  start: number;
  cjk: boolean;
}

export function* runsOf(text: string): Generator<ScriptRun> {
  for (const { 0: run, index } of text.matchAll(runs)) yield { text: run, start: index, cjk: startsCjk.test(run) };
}

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

export function plainWord(word: string): string {
  return word.normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFKC').toLowerCase();
}

export function pairsOf(run: string): string[] {
  const characters = charactersOf(run);
  return characters.slice(1).map((character, index) => characters[index]! + character);
}

export const charactersOf = (run: string): string[] => Array.from(run.normalize('NFKC'));
