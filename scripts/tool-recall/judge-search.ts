// How often a search finds the right tool: questions with the tools that answer them, and where those stand in what is found. Pure.
import type { SearchableTool, ToolIndex } from '#libs/tool-search/tool-index.js';

export interface SearchQuestion {
  question: string;
  /** `server/tool`; any of them is right. */
  tools: string[];
  /** Its result is not looked at while the search is improved. */
  held_out?: boolean;
  /** The further set that it is of. */
  set?: string;
}

/** A question, and what was found for it. */
export interface JudgedQuestion extends SearchQuestion {
  /** `server/tool`, best first. */
  found: string[];
  /** Where the first right tool stands, from 1; undefined if it is not among the found. */
  rank: number | undefined;
}

export interface Recall {
  questions: number;
  /** The shares of the questions whose right tool is the first, and among the first five. */
  at1: number;
  at5: number;
  /** The mean of 1 / rank, 0 where nothing right was found. */
  reciprocalRank: number;
}

/** How far down a right tool is looked for. */
const depth = 20;

export const idOf = ({ server, tool }: Pick<SearchableTool, 'server' | 'tool'>): string => `${server}/${tool}`;

export function judge(index: ToolIndex<SearchableTool>, questions: readonly SearchQuestion[]): JudgedQuestion[] {
  return questions.map((question) => {
    const found = index.find(question.question, { limit: depth }).map(({ tool }) => idOf(tool));
    const position = found.findIndex((id) => question.tools.includes(id));
    return { ...question, found, rank: position === -1 ? undefined : position + 1 };
  });
}

export function recallOf(judged: readonly JudgedQuestion[]): Recall {
  const shareOf = (isCounted: (rank: number) => boolean) =>
    judged.filter(({ rank }) => rank !== undefined && isCounted(rank)).length / judged.length;
  return {
    questions: judged.length,
    at1: shareOf((rank) => rank === 1),
    at5: shareOf((rank) => rank <= 5),
    reciprocalRank: judged.reduce((sum, { rank }) => sum + (rank === undefined ? 0 : 1 / rank), 0) / judged.length,
  };
}

/** A question with Chinese characters is Chinese, whatever else it has. */
export const isInChinese = ({ question }: SearchQuestion): boolean => /\p{Script=Han}/u.test(question);
