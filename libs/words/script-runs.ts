// Splits a text at what is no letter and no digit, and where a script with spaces between its words meets one without.
// What has no spaces is searched by pairs of neighbouring characters and by single ones: that needs no dictionary.

const cjk = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}`;
/** Runs of characters without spaces between words, or words. */
const runs = new RegExp(`[${cjk}]+|(?:(?![${cjk}])[\\p{L}\\p{N}\\p{M}])+`, 'gu');
const startsCjk = new RegExp(`^[${cjk}]`, 'u');

export interface ScriptRun {
  text: string;
  start: number;
  cjk: boolean;
}

export function* runsOf(text: string): Generator<ScriptRun> {
  for (const { 0: run, index } of text.matchAll(runs)) yield { text: run, start: index, cjk: startsCjk.test(run) };
}

/** In lower case, without accents. */
export function plainWord(word: string): string {
  return word.normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFKC').toLowerCase();
}

export function pairsOf(run: string): string[] {
  const characters = charactersOf(run);
  return characters.slice(1).map((character, index) => characters[index]! + character);
}

export const charactersOf = (run: string): string[] => Array.from(run.normalize('NFKC'));
