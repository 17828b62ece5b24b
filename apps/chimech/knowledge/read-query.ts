// What a query asks for: exactly a text, if it is in quotation marks as a whole, or what has its words.
import { charactersOf, pairsOf, plainWord, runsOf } from '#libs/words/script-runs.js';
import { wordPairsOf } from './spaced-text.js';

export interface Query {
  /** As it is to be found, with single spaces. */
  exact?: string;
  /** Of an exact text: its pairs of words, by their numbers. */
  pairs: number[];
  /** Of an exact text: spaced words that stand side by side in the index wherever the text is found. */
  phrases: string[];
  /** Spaced as the index is. */
  words: string;
  /** Of scripts without spaces what is worth showing as found: pairs, and characters that were asked for alone. */
  characters: string[];
  language: 'zh' | 'en';
}

const quotationMarks = [
  ['"', '"'],
  ['“', '”'],
  ['「', '」'],
  ['『', '』'],
  ['«', '»'],
] as const;

/** What is beyond it is left out, single characters first. */
const maxWords = 48;

export function readQuery(text: string): Query {
  const trimmed = text.trim();
  const exact = withinQuotationMarks(trimmed);
  const words: string[] = [];
  const pairs: string[] = [];
  const singles: string[] = [];
  const alone: string[] = [];
  for (const run of runsOf(exact ?? trimmed)) {
    if (!run.cjk) {
      words.push(plainWord(run.text));
      continue;
    }
    pairs.push(...pairsOf(run.text));
    const characters = charactersOf(run.text);
    singles.push(...characters);
    if (characters.length === 1) alone.push(...characters);
  }
  return {
    ...(exact !== undefined && { exact }),
    pairs: exact === undefined ? [] : wordPairsOf(exact),
    phrases: exact === undefined ? [] : phrasesOf(exact),
    words: [...new Set([...words, ...pairs, ...singles])].slice(0, maxWords).join(' '),
    characters: [...pairs, ...alone],
    language: /\p{Script=Han}/u.test(trimmed) ? 'zh' : 'en',
  };
}

/** The pairs of each run without spaces are a phrase, as spacedText writes them; a word alone is one, too. */
function phrasesOf(exact: string): string[] {
  const runs = [...runsOf(exact)];
  return runs.flatMap((run, index) => {
    if (!run.cjk) {
      const hasNeighbour = [runs[index - 1], runs[index + 1]].some((other) => other?.cjk === false);
      return hasNeighbour ? [] : [plainWord(run.text)];
    }
    const pairs = pairsOf(run.text);
    return [(pairs.length > 0 ? pairs : charactersOf(run.text)).join(' ')];
  });
}

function withinQuotationMarks(text: string): string | undefined {
  for (const [open, close] of quotationMarks) {
    const inside = text.slice(open.length, -close.length);
    if (text.length < 3 || !text.startsWith(open) || !text.endsWith(close)) continue;
    if (inside.includes(open) || inside.includes(close)) continue;
    const phrase = inside.trim().replace(/\s+/g, ' ');
    if (phrase !== '') return phrase;
  }
  return undefined;
}
