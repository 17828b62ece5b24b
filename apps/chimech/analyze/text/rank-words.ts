// Keywords by TextRank (Mihalcea and Tarau, "TextRank: Bringing Order into Texts", EMNLP 2004): words that stand close to
// each other vote for each other, and words that are key and adjacent become phrases.
import type { TextLanguage } from './detect-language.js';
import type { Words } from './split-text.js';
import { chineseStopWords, englishStopWords } from './stop-words.js';

const maxKeywords = 10;
/** The most frequent words are ranked. */
const maxNodes = 1_000;
/** Candidates that follow a word and are linked to it. */
const window = 2;
const damping = 0.85;
const rounds = 30;

export interface RankedWords {
  keywords: string[];
  /** By the word in lower case. */
  scores: ReadonlyMap<string, number>;
}

/** Of the words of each sentence. */
export function rankWords(sentences: readonly Words[], language: TextLanguage): RankedWords {
  const tokens = sentences.flatMap((words) => [...words, undefined]).map((word) => candidate(word));
  const counts = new Map<string, number>();
  for (const word of tokens) if (word !== undefined) counts.set(word, (counts.get(word) ?? 0) + 1);
  const nodes = [...counts].sort(([, a], [, b]) => b - a).slice(0, maxNodes);
  const scores = vote(
    nodes.map(([word]) => word),
    tokens,
  );
  return { keywords: phrases(tokens, scores, language), scores };
}

/** `undefined`: punctuation, a function word, or too short to mean something. */
function candidate(word: string | undefined): string | undefined {
  if (word === undefined || !/\p{L}/u.test(word)) return undefined;
  const plain = word.toLowerCase();
  if (/^\p{Script=Han}/u.test(plain)) return plain.length < 2 || chineseStopWords.has(plain) ? undefined : plain;
  return plain.length < 3 || plain.length > 40 || englishStopWords.has(plain) ? undefined : plain;
}

/** In flat arrays: a map for each word would take megabytes. */
function vote(nodes: readonly string[], tokens: readonly (string | undefined)[]): Map<string, number> {
  const { ends, weights } = linksOf(nodes, tokens);
  const strength = new Float64Array(nodes.length);
  for (let link = 0; link < weights.length; link += 1) {
    const weight = weights[link]!;
    strength[ends[2 * link]!]! += weight;
    strength[ends[2 * link + 1]!]! += weight;
  }
  let scores = new Float64Array(nodes.length).fill(1);
  let next = new Float64Array(nodes.length);
  for (let round = 0; round < rounds; round += 1) {
    next.fill(1 - damping);
    for (let link = 0; link < weights.length; link += 1) {
      const weight = weights[link]!;
      const one = ends[2 * link]!;
      const other = ends[2 * link + 1]!;
      next[one]! += (damping * weight * scores[other]!) / strength[other]!;
      next[other]! += (damping * weight * scores[one]!) / strength[one]!;
    }
    [scores, next] = [next, scores];
  }
  return new Map(nodes.map((word, index) => [word, scores[index]!]));
}

/** The two ends of each link, and how often they stand close to each other. */
function linksOf(nodes: readonly string[], tokens: readonly (string | undefined)[]) {
  const places = new Map(nodes.map((word, index) => [word, index]));
  const counts = new Map<number, number>();
  const near: number[] = [];
  for (const word of tokens) {
    const here = word === undefined ? undefined : places.get(word);
    if (here === undefined) continue;
    for (const other of near) {
      if (other === here) continue;
      const link = Math.min(here, other) * maxNodes + Math.max(here, other);
      counts.set(link, (counts.get(link) ?? 0) + 1);
    }
    near.push(here);
    if (near.length > window) near.shift();
  }
  const ends = Uint16Array.from([...counts.keys()].flatMap((link) => [Math.floor(link / maxNodes), link % maxNodes]));
  return { ends, weights: Float64Array.from(counts.values()) };
}

/** The best words; two of them that stand side by side more than once are one keyword. */
function phrases(
  tokens: readonly (string | undefined)[],
  scores: ReadonlyMap<string, number>,
  language: TextLanguage,
): string[] {
  const best = [...scores].sort(([, a], [, b]) => b - a).slice(0, maxKeywords * 2);
  const strong = new Set(best.map(([word]) => word));
  const pairs = new Map<string, { words: [string, string]; count: number }>();
  for (const [index, word] of tokens.entries()) {
    const following = tokens[index + 1];
    if (word === undefined || following === undefined || word === following) continue;
    if (!strong.has(word) || !strong.has(following)) continue;
    const text = language === 'zh' && /\p{Script=Han}$/u.test(word) ? word + following : `${word} ${following}`;
    const pair = pairs.get(text) ?? { words: [word, following], count: 0 };
    pair.count += 1;
    pairs.set(text, pair);
  }
  const used = new Set<string>();
  const ranked = best.map(([text, score]) => ({ text, score }));
  for (const [text, { words, count }] of [...pairs].sort(([, a], [, b]) => b.count - a.count)) {
    if (count < 2 || words.some((word) => used.has(word))) continue;
    for (const word of words) used.add(word);
    ranked.push({ text, score: scores.get(words[0])! + scores.get(words[1])! });
  }
  return ranked
    .filter(({ text }) => !used.has(text))
    .sort((a, b) => b.score - a.score)
    .slice(0, maxKeywords)
    .map(({ text }) => text);
}
