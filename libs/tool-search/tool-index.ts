// Finds tools by words: BM25 over the texts of each tool, which count by where they stand. It is made when it is first asked, and
// reads nothing but the tools that it is given.
import { queryWords, type QueryWord } from './query-words.js';
import { wordsOf } from './read-words.js';
import { searchedTexts, type SearchableTool } from './searched-texts.js';

export type { SearchableTool };

export interface FoundTool<T> {
  tool: T;
  score: number;
}

/** BM25's constants: how soon more of a word stops counting, and how much a long definition is discounted. */
const saturation = 1.2;
const lengthDiscount = 0.5;

/** Tools by position, and what the word counts in each. */
interface Postings {
  positions: number[];
  counts: number[];
}

interface BuiltIndex {
  postings: Map<string, Postings>;
  /** By position: what a tool's length does to its counts. */
  discounts: Float64Array;
}

export class ToolIndex<T extends SearchableTool> {
  private built: BuiltIndex | undefined;

  constructor(private readonly tools: readonly T[]) {}

  /** Best first; only tools that `isShown` accepts (a tool denied to the caller is never found). */
  find(query: string, options: { limit: number; isShown?: (tool: T) => boolean }): FoundTool<T>[] {
    const { limit, isShown = () => true } = options;
    const words = queryWords(query);
    if (words.length === 0 || limit <= 0) return [];
    const scores = this.scoresOf(words);
    const found: FoundTool<T>[] = [];
    // Equal scores keep the order of the catalog.
    for (const [position, score] of [...scores].sort((one, other) => other[1] - one[1] || one[0] - other[0])) {
      const tool = this.tools[position]!;
      if (isShown(tool)) found.push({ tool, score });
      if (found.length >= limit) break;
    }
    return found;
  }

  private scoresOf(words: readonly QueryWord[]): Map<number, number> {
    const { postings, discounts } = (this.built ??= build(this.tools));
    const scores = new Map<number, number>();
    for (const { weight, terms } of words) {
      const counts = new Map<number, number>();
      let tools = 0;
      for (const [term, share] of terms) {
        const posting = postings.get(term);
        if (posting === undefined) continue;
        // A rare synonym of a usual word is as usual as that.
        tools = Math.max(tools, posting.positions.length);
        posting.positions.forEach((position, at) => {
          counts.set(position, Math.max(counts.get(position) ?? 0, share * posting.counts[at]!));
        });
      }
      const rarity = Math.log(1 + (this.tools.length - tools + 0.5) / (tools + 0.5));
      for (const [position, count] of counts) {
        const part = (count * (saturation + 1)) / (count + saturation * discounts[position]!);
        scores.set(position, (scores.get(position) ?? 0) + weight * rarity * part);
      }
    }
    return scores;
  }
}

function build(tools: readonly SearchableTool[]): BuiltIndex {
  const postings = new Map<string, Postings>();
  const lengths = new Float64Array(tools.length);
  for (const [position, tool] of tools.entries()) {
    const counts = new Map<string, number>();
    for (const { text, weight } of searchedTexts(tool)) {
      for (const word of wordsOf(text)) {
        counts.set(word, (counts.get(word) ?? 0) + weight);
        lengths[position]! += weight;
      }
    }
    for (const [word, count] of counts) {
      let posting = postings.get(word);
      if (posting === undefined) postings.set(word, (posting = { positions: [], counts: [] }));
      posting.positions.push(position);
      posting.counts.push(count);
    }
  }
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, tools.length) || 1;
  return { postings, discounts: lengths.map((length) => 1 - lengthDiscount + (lengthDiscount * length) / average) };
}

const indexes = new WeakMap<readonly SearchableTool[], unknown>();

/** One index per list of tools, kept as long as the list: the catalog gives the same array until it changes. */
export function toolIndexOf<T extends SearchableTool>(tools: readonly T[]): ToolIndex<T> {
  const known = indexes.get(tools);
  if (known !== undefined) return known as ToolIndex<T>;
  const index = new ToolIndex(tools);
  indexes.set(tools, index);
  return index;
}
