// Reads what `npm run conformance` prints: a title, and a line a scenario. Pure.
import { table } from './write-page.js';

const marks = { '✓': 'passed', '✗': 'failed', '○': 'notScored', '–': 'notApplicable' } as const;

/** @throws Error if there are no results */
export function readConformance(output: string): string[] {
  const suites: { title: string; counts: Record<(typeof marks)[keyof typeof marks], number>; failed: string[] }[] = [];
  for (const line of output.split('\n')) {
    const [, title] = /^((?:gateway|own server|client): conformance .+)$/.exec(line) ?? [];
    if (title !== undefined) {
      suites.push({ title, counts: { passed: 0, failed: 0, notScored: 0, notApplicable: 0 }, failed: [] });
    }
    const [, mark, scenario] = /^ {2}([✓✗○–]) {1,2}([^\s:]+)/.exec(line) ?? [];
    const suite = suites.at(-1);
    if (mark === undefined || suite === undefined) continue;
    suite.counts[marks[mark as keyof typeof marks]] += 1;
    if (mark === '✗') suite.failed.push(scenario!);
  }
  if (suites.length === 0) throw new Error('the output has no suite');
  const empty = suites.filter(({ counts }) => Object.values(counts).every((count) => count === 0));
  if (empty.length > 0) throw new Error(`no scenario was judged: ${empty.map(({ title }) => title).join('; ')}`);
  return [
    ...table(
      ['judged', 'passed', 'failed', 'failed, not scored by the suite', 'does not apply'],
      suites.map(({ title, counts }) => [
        title.replace('conformance ', ''),
        counts.passed,
        counts.failed,
        counts.notScored,
        counts.notApplicable,
      ]),
    ),
    ...suites.flatMap(({ title, failed }) =>
      failed.length === 0 ? [] : ['', `Failed, ${title}: ${failed.map((each) => `\`${each}\``).join(', ')}.`],
    ),
  ];
}
