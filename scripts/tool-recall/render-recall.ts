// The figures of a search for tools as Markdown, and their place in the page that has them. Pure.
import { table } from '../scoreboard/write-page.js';
import { isInChinese, type JudgedQuestion, recallOf } from './judge-search.js';

export interface MeasuredSearch {
  judged: readonly JudgedQuestion[];
  servers: number;
  tools: number;
  /** Tokens of all definitions, and of the five that a question finds, in the mean. */
  allTokens: number;
  foundTokens: number;
  queriesPerSecond: number;
  /** Servers that gave no tools. */
  failed: Readonly<Record<string, string>>;
}

const begin = '<!-- recall: written by `npm run recall` -->';
const end = '<!-- end of recall -->';

export function renderRecall(measured: MeasuredSearch): string[] {
  const { judged, servers, tools, allTokens, foundTokens, queriesPerSecond, failed } = measured;
  const sets = new Set(judged.flatMap(({ set }) => set ?? []));
  const parts: [string, (question: JudgedQuestion) => boolean][] = [
    ['improved on', ({ held_out: heldOut, set }) => heldOut !== true && set === undefined],
    ['held out', ({ held_out: heldOut, set }) => heldOut === true && set === undefined],
    ...[...sets].map((name): [string, (question: JudgedQuestion) => boolean] => [
      `set ${name}`,
      ({ set }) => set === name,
    ]),
    ['all', () => true],
  ];
  const languages: [string, (question: JudgedQuestion) => boolean][] = [
    ['English', (question) => !isInChinese(question)],
    ['Chinese', isInChinese],
    ['both', () => true],
  ];
  const rows = parts.flatMap(([part, isOfPart]) =>
    languages.map(([language, isOfLanguage]) => {
      const { questions, at1, at5, reciprocalRank } = recallOf(
        judged.filter((each) => isOfPart(each) && isOfLanguage(each)),
      );
      return [part, language, questions, ...[at1, at5, reciprocalRank].map((share) => share.toFixed(2))];
    }),
  );
  const number = (value: number) => Math.round(value).toLocaleString('en');
  const lines = [
    `${number(tools)} tools of ${servers} servers, ${judged.length} questions.`,
    '',
    ...table(['questions', 'language', 'number', 'recall at 1', 'recall at 5', 'mean reciprocal rank'], rows),
    '',
    `Tokens of all definitions: ${number(allTokens)}; of the five that are found: ${number(foundTokens)} (${((100 * foundTokens) / allTokens).toFixed(1)} %). ` +
      `Queries per second: ${number(queriesPerSecond)}.`,
  ];
  const names = Object.keys(failed);
  return names.length === 0 ? lines : [...lines, '', `Servers that did not start: ${names.join(', ')}.`];
}

/** @throws Error if the page has no place for it */
export function withRecall(page: string, lines: readonly string[]): string {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from === -1 || to < from) throw new Error('The page has no place for the figures');
  return [`${page.slice(0, from)}${begin}`, '', ...lines, '', page.slice(to)].join('\n');
}
