// Text as the index has it: words apart from each other by spaces, without their accents, so that PostgreSQL's parser finds
// nothing else in it. Scripts without spaces become pairs of neighbouring characters and single ones: they need no dictionary,
// and any word of a query is found wherever it stands. Pairs find what is asked for, single characters what has it in other
// words.

const cjk = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}`;
/** Runs of characters without spaces between words, or words. */
const runs = new RegExp(`[${cjk}]+|(?:(?![${cjk}])[\\p{L}\\p{N}\\p{M}])+`, 'gu');
const startsCjk = new RegExp(`^[${cjk}]`, 'u');
/** Longer ones are data, not words. */
export const maxWordLength = 64;

export interface Run {
  text: string;
  start: number;
  cjk: boolean;
}

export function* runsOf(text: string): Generator<Run> {
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

export function plainWord(word: string): string {
  return word.normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFKC').toLowerCase();
}

export function pairsOf(run: string): string[] {
  const characters = charactersOf(run);
  return characters.slice(1).map((character, index) => characters[index]! + character);
}

export const charactersOf = (run: string): string[] => Array.from(run.normalize('NFKC'));
