// Finds tools by words: BM25F, which is BM25 over texts that count by where they stand. It is made when it is first asked, and
// reads nothing but the tools that it is given.
import { WorkSlices } from '#libs/concurrency/work-slices.js';
import { keptFor } from '#libs/kept/kept-for.js';
import { kindOfTool, kindsOfQuery } from './action-kinds.js';
import { queryWords, type QueryWord } from './query-words.js';
import { wordsOf } from './read-words.js';
import { fields, searchedTexts, type SearchableTool } from './searched-texts.js';

export type { SearchableTool };

export interface FoundTool<T> {
  tool: T;
  score: number;
}

/** BM25's constant: how soon more of a word stops counting. */
const saturation = 1.2;
/** A word that no definition has may be the beginning of some that are there: `mongo`, `repo`. */
const leastBeginning = 4;
const mostBegun = 8;

/** What a tool counts that does something else than what is asked for. */
const otherKindShare = 0.8;
/** What a tool counts besides of the mean of its server. */
const serverShare = 0.4;

/** Tools by position, and what the word counts in each. */
interface Postings {
  positions: number[];
  counts: number[];
  /** How many tools the word is usual in: one that has it in its name is one, another is the less. */
  tools: number;
}

interface BuiltIndex {
  postings: Map<string, Postings>;
  /** In the order of their characters. */
  terms: string[];
  /** By position. */
  kinds: ReturnType<typeof kindOfTool>[];
  /** By position. */
  servers: string[];
  /** How many tools each server has. */
  toolsOf: Map<string, number>;
}

export class ToolIndex<T extends SearchableTool> {
  private built: BuiltIndex | undefined;
  private building: Promise<BuiltIndex> | undefined;

  constructor(private readonly tools: readonly T[]) {}

  /** Makes the index in slices, so that nothing else waits for it. `find` makes at once what is not there. */
  async prepare(): Promise<void> {
    this.built ??= await (this.building ??= buildInSlices(this.tools));
  }

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
    const built = (this.built ??= buildAtOnce(this.tools));
    const scores = new Map<number, number>();
    for (const word of words) {
      const best = new Map<number, number>();
      const terms = termsIn(built, word);
      // What stands for a word says no more than the word: a rare synonym of a usual word is as usual as that.
      const most = Math.max(...[...terms].map(([term, share]) => (share === 1 ? this.rarityOf(built, term) : 0)));
      for (const [term, share] of terms) {
        const { positions, counts } = built.postings.get(term)!;
        const worth = share * Math.min(most, this.rarityOf(built, term));
        positions.forEach((position, at) => {
          const part = (worth * counts[at]! * (saturation + 1)) / (counts[at]! + saturation);
          if (part > (best.get(position) ?? 0)) best.set(position, part);
        });
      }
      for (const [position, part] of best) scores.set(position, (scores.get(position) ?? 0) + word.weight * part);
    }
    const ofServers = this.meansOf(scores);
    const asked = kindsOfQuery(words);
    for (const [position, ownScore] of scores) {
      const score = ownScore + serverShare * ofServers.get(built.servers[position]!)!;
      scores.set(position, score);
      const kind = built.kinds[position];
      if (asked.size > 0 && kind !== undefined && !asked.has(kind)) scores.set(position, score * otherKindShare);
    }
    return scores;
  }

  /** What the tools of a server score in the mean: a question is about a server before it is about a tool. */
  private meansOf(scores: ReadonlyMap<number, number>): Map<string, number> {
    const built = this.built!;
    const means = new Map<string, number>();
    for (const [position, score] of scores) {
      const server = built.servers[position]!;
      means.set(server, (means.get(server) ?? 0) + score / built.toolsOf.get(server)!);
    }
    return means;
  }

  private rarityOf({ postings }: BuiltIndex, term: string): number {
    const { tools } = postings.get(term)!;
    return Math.log(1 + (this.tools.length - tools + 0.5) / (tools + 0.5));
  }
}

/** The terms of a word that definitions have. If none of them has the word itself, what stands for it counts as much as it would. */
function termsIn({ postings, terms }: BuiltIndex, { word, terms: meant }: QueryWord): Map<string, number> {
  const known = new Map([...meant].filter(([term]) => postings.has(term)));
  if (known.has(word)) return known;
  for (const term of begunBy(terms, word)) known.set(term, 1);
  const most = Math.max(...known.values());
  return new Map([...known].map(([term, share]) => [term, share / most]));
}

function begunBy(terms: readonly string[], beginning: string): string[] {
  if (beginning.length < leastBeginning) return [];
  let [from, to] = [0, terms.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (terms[middle]! < beginning) from = middle + 1;
    else to = middle;
  }
  const begun = terms.slice(from, from + mostBegun + 1).filter((term) => term.startsWith(beginning));
  return begun.length > mostBegun ? [] : begun;
}

function buildAtOnce(tools: readonly SearchableTool[]): BuiltIndex {
  const steps = build(tools);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

async function buildInSlices(tools: readonly SearchableTool[]): Promise<BuiltIndex> {
  const slices = new WorkSlices();
  const steps = build(tools);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await slices.next();
  }
}

/** Yields after each tool, which it reads once and counts once. */
function* build(tools: readonly SearchableTool[]): Generator<void, BuiltIndex> {
  const read: ReadText[][] = [];
  const sums: Lengths = {};
  for (const tool of tools) {
    const texts = searchedTexts(tool).map(({ text, field }) => ({ field, words: wordsOf(text) }));
    addLengths(sums, texts);
    read.push(texts);
    yield;
  }
  const average = averageLengths(sums, tools.length);
  const postings = new Map<string, Postings>();
  for (const [position, texts] of read.entries()) {
    const counts = new Map<string, number>();
    const lengths: Lengths = {};
    addLengths(lengths, texts);
    for (const { field, words: found } of texts) {
      const { weight, lengthDiscount } = fields[field];
      const discount = 1 - lengthDiscount + (lengthDiscount * lengths[field]!) / average[field]!;
      for (const word of found) counts.set(word, (counts.get(word) ?? 0) + weight / discount);
    }
    for (const [word, count] of counts) {
      let posting = postings.get(word);
      if (posting === undefined) postings.set(word, (posting = { positions: [], counts: [], tools: 0 }));
      posting.positions.push(position);
      posting.counts.push(count);
      posting.tools += Math.min(1, count / fields.name.weight);
    }
    yield;
  }
  const servers = tools.map(({ server }) => server);
  const toolsOf = new Map<string, number>();
  for (const server of servers) toolsOf.set(server, (toolsOf.get(server) ?? 0) + 1);
  const kinds = tools.map(({ tool }) => kindOfTool(tool));
  return { postings, terms: [...postings.keys()].sort(), kinds, servers, toolsOf };
}

interface ReadText {
  field: keyof typeof fields;
  words: readonly string[];
}

type Lengths = Partial<Record<keyof typeof fields, number>>;

function addLengths(lengths: Lengths, texts: readonly ReadText[]): void {
  for (const { field, words } of texts) lengths[field] = (lengths[field] ?? 0) + words.length;
}

const averageLengths = (sums: Lengths, tools: number): Lengths =>
  Object.fromEntries(Object.entries(sums).map(([field, length]) => [field, Math.max(1, length / tools)]));

const indexOf = keptFor((tools: readonly SearchableTool[]) => new ToolIndex(tools));

/** One index per list of tools: the catalog gives the same array until it changes. */
export const toolIndexOf = <T extends SearchableTool>(tools: readonly T[]) => indexOf(tools) as unknown as ToolIndex<T>;
