// Texts as the index has them. English names are split and words lose their endings, so that "list the invoices" finds
// `list_invoice`; Chinese becomes pairs and single characters.
import { charactersOf, pairsOf, plainWord, runsOf } from '#libs/words/script-runs.js';

/** Longer ones are data, not words. */
const maxWordLength = 40;

/** Words that are in most sentences, whatever those ask for. */
const stopWords = new Set(
  `a about am an and any are as at be been being by can could did do does doing for from had has have having here how
  i if in into is it its just kindly let me my need no not of off on onto or our out over own please shall should
  so some such than that the their them then there these they this those through to too up us using use used uses very via want wanna
  was we were what when where which while who whom whose why will with would you your yours`.split(/\s+/),
);

/** The terms of a text, each as often as it occurs. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const run of runsOf(text)) {
    if (run.cjk) words.push(...pairsOf(run.text), ...charactersOf(run.text));
    else words.push(...partsOfWord(run.text));
  }
  return words;
}

/** The terms of a word of a script with spaces: `getFileInfo` has three. */
export function partsOfWord(run: string): string[] {
  const parts = run
    .replace(/([\p{Ll}\p{N}])(?=\p{Lu})/gu, '$1 ')
    .replace(/(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$1 ')
    .split(' ');
  return parts.flatMap((part) => {
    const word = plainWord(part);
    return word === '' || word.length > maxWordLength || stopWords.has(word) ? [] : [stemOf(word)];
  });
}

/** A word without its endings: forms of one word become equal, which need not be a word. */
export function stemOf(word: string): string {
  if (word.length <= 3 || !/^[a-z]+$/.test(word)) return word;
  const singular = withoutPlural(word);
  const verb = /^(.*[aeiouy].*)(?:ing|ed)$/.exec(singular)?.[1];
  const root = verb === undefined || verb.length < 3 ? singular.replace(/(?<=[a-z]{4}[st])ion$/, '') : undoubled(verb);
  return root.length > 3 ? root.replace(/e$/, '') : root;
}

function withoutPlural(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|zz)es$/.test(word)) return word.slice(0, -2);
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word;
}

const undoubled = (word: string): string => word.replace(/([bdgmnprt])\1$/, '$1');
