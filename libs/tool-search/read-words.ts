// Texts as the index has them. English names are split and words lose their endings, so that "list the invoices" finds
// `list_invoice`; Chinese becomes pairs and single characters.
import { charactersOf, pairsOf, plainWord, runsOf } from '#libs/words/script-runs.js';

/** Longer ones are data, not words. */
const maxWordLength = 40;

/** Words that are in most sentences, whatever those ask for. */
const stopWords = new Set(
  `a about again all also am an and any anybody anyone anything are as at be because been being but by can could did do does doing
  each either else ever every everybody everyone everything for from had has have having he hello her here hers hey hi him his how
  i if in into is it its just kindly let lets like ll may me might mine must my need no not now of off ok on onto or other our ours
  out over own please re really shall she should so some somebody someone something such tell than thank thanks that the their them
  then there these they thing things this those through to too up us using use used uses ve very via want wanna was we were what
  whatever when where whether which while who whom whose why will with would yes you your yours`.split(/\s+/),
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
function partsOfWord(run: string): readonly string[] {
  const known = read.get(run);
  if (known !== undefined) return known;
  const parts = splitWord(run).flatMap(indexedForm);
  if (read.size >= maxRead) read.clear();
  if (run.length <= maxWordLength) read.set(run, parts);
  return parts;
}

/** Definitions repeat their words, so most of them were read before. */
const read = new Map<string, readonly string[]>();
const maxRead = 20_000;

/** In lower case, each as it is. */
export function splitWord(run: string): string[] {
  const parts = run
    .replace(/([\p{Ll}\p{N}])(?=\p{Lu})/gu, '$1 ')
    .replace(/(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$1 ')
    .split(' ');
  return parts.map(plainWord).filter((word) => word !== '' && word.length <= maxWordLength);
}

/** The word as the index has it; none if it says nothing. */
export const indexedForm = (word: string): string[] => (stopWords.has(word) ? [] : [stemOf(word)]);

/** A word without its endings: forms of one word become equal, which need not be a word. */
export function stemOf(word: string): string {
  if (word.length <= 3 || !/^[a-z]+$/.test(word)) return word;
  const singular = withoutPlural(word).replace(/(?<=[a-z]{4})(?:ment|ly)$/, '');
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
