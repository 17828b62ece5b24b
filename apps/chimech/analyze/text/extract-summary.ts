// A summary of the content's own sentences: those with the most important words, in their order (Luhn, "The Automatic
// Creation of Literature Abstracts", 1958, with TextRank's scores of words).
import type { Words } from './split-text.js';

export interface Sentence {
  text: string;
  words: Words;
}

const maxSentences = 3;
export const maxSummaryCharacters = 600;

export function extractSummary(sentences: readonly Sentence[], scores: ReadonlyMap<string, number>): string {
  const judged = sentences.map(({ text, words }, index) => ({
    text,
    index,
    score: weigh(words, scores) * (index === 0 ? 1.5 : 1),
  }));
  const chosen: typeof judged = [];
  let characters = 0;
  for (const sentence of judged.sort((a, b) => b.score - a.score)) {
    if (chosen.length === maxSentences) break;
    if (chosen.length > 0 && characters + sentence.text.length > maxSummaryCharacters) continue;
    if (chosen.some(({ text }) => text === sentence.text)) continue;
    chosen.push(sentence);
    characters += sentence.text.length;
  }
  const joined = chosen
    .sort((a, b) => a.index - b.index)
    .map(({ text }) => text)
    .join(' ')
    .replace(/(?<=[。！？…”]) (?=\p{Script=Han})/gu, '');
  return joined.length > maxSummaryCharacters
    ? `${joined.slice(0, maxSummaryCharacters).replace(/[\ud800-\udbff]$/, '')}…`
    : joined;
}

/** The mean of the words' scores; short sentences count as if they had eight words. */
function weigh(words: Words, scores: ReadonlyMap<string, number>): number {
  let sum = 0;
  let count = 0;
  for (const word of words) {
    if (word === undefined) continue;
    count += 1;
    sum += scores.get(word.toLowerCase()) ?? 0;
  }
  return sum / Math.max(count, 8);
}
