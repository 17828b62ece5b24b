// Words and sentences. Words: runs of letters and digits; Chinese by the dictionary of Intl.Segmenter.

const letters = String.raw`(?:(?!\p{Script=Han})[\p{L}\p{M}\p{N}])+`;
/** A run of Chinese, or a word of letters with its apostrophes and decimal points; else the punctuation that parts words. */
const tokens = new RegExp(String.raw`\p{Script=Han}+|${letters}(?:['’.]${letters})*|[^\s\p{L}\p{M}\p{N}]`, 'gu');
const han = /^\p{Script=Han}/u;
const wordStart = /^[\p{L}\p{M}\p{N}]/u;
const segmenter = new Intl.Segmenter('zh', { granularity: 'word' });
/** The time that Intl.Segmenter takes for a string grows with the square of its length. */
const segmentedAtOnce = 200;

/** The words of a text in their order. `undefined` stands between words that punctuation parts. */
export function* splitWords(text: string): Generator<string | undefined> {
  for (const [token] of text.matchAll(tokens)) {
    if (han.test(token)) {
      for (let at = 0; at < token.length; at += segmentedAtOnce) {
        for (const { segment } of segmenter.segment(token.slice(at, at + segmentedAtOnce))) yield segment;
      }
    } else yield wordStart.test(token) ? token : undefined;
  }
}

/** `undefined` is punctuation. */
export type Words = readonly (string | undefined)[];

export function countWords(text: string): number {
  let count = 0;
  for (const word of splitWords(text)) if (word !== undefined) count += 1;
  return count;
}

/** A full stop behind these ends no sentence. */
const abbreviations = new Set(
  'mr mrs ms dr prof sr jr st vs etc eg ie al fig no vol pp cf approx inc ltd co corp dept e.g i.e'.split(' '),
);
const ends = /[。！？!?…]+["'”’」』）)\]]*|\.+["'”’)\]]*(?=\s|$)|[；;]\n|\n/g;
const lastWord = /[\p{L}.]{1,12}$/u;

/** The sentences of one paragraph, each with at least one letter or digit. */
export function splitSentences(paragraph: string): string[] {
  const sentences: string[] = [];
  let start = 0;
  const cut = (end: number) => {
    const sentence = paragraph.slice(start, end).trim();
    if (/[\p{L}\p{N}]/u.test(sentence)) sentences.push(sentence);
    start = end;
  };
  for (const match of paragraph.matchAll(ends)) {
    const end = match.index + match[0].length;
    if (match[0] === '.' && !endsSentence(paragraph, match.index, end)) continue;
    cut(end);
  }
  cut(paragraph.length);
  return sentences;
}

function endsSentence(text: string, stop: number, end: number): boolean {
  const following = text.slice(end, end + 20).trimStart();
  if (/^\p{Ll}/u.test(following)) return false;
  const word = lastWord.exec(text.slice(Math.max(0, stop - 12), stop))?.[0] ?? '';
  // An initial, as in "J. Smith"; but "Plan B." may end a text.
  if (/^\p{Lu}$/u.test(word)) return following === '';
  return following === '' || !abbreviations.has(word.toLowerCase());
}
