// A summary of the content's own sentences: those with the most important words, in their order (Luhn, "The Automatic
// Creation of Literature Abstracts", 1958, with TextRank's scores of words).
import { splitWords } from './split-text.js';

const maxSentences = 3;
const maxCharacters = 600;

export function extractSummary(sentences: readonly string[], scores: ReadonlyMap<string, number>): string {
  const judged = sentences.map((text, index) => ({
    text,
    index,
    score: weigh(text, scores) * (index === 0 ? 1.5 : 1),
  }));
  const chosen: typeof judged = [];
  let characters = 0;
  for (const sentence of judged.sort((a, b) => b.score - a.score)) {
    if (chosen.length === maxSentences) break;
    if (chosen.length > 0 && characters + sentence.text.length > maxCharacters) continue;
    if (chosen.some(({ text }) => text === sentence.text)) continue;
    chosen.push(sentence);
    characters += sentence.text.length;
  }
  const joined = chosen
    .sort((a, b) => a.index - b.index)
    .map(({ text }) => text)
    .join(' ')
    .replace(/(?<=[。！？…”]) (?=\p{Script=Han})/gu, '');
  return joined.length > maxCharacters ? `${joined.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, '')}…` : joined;
}

/** The mean of the words' scores; short sentences count as if they had eight words. */
function weigh(sentence: string, scores: ReadonlyMap<string, number>): number {
  let sum = 0;
  let words = 0;
  for (const word of splitWords(sentence)) {
    if (word === undefined) continue;
    words += 1;
    sum += scores.get(word.toLowerCase()) ?? 0;
  }
  return sum / Math.max(words, 8);
}
