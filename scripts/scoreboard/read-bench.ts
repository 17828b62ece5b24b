// Reads the ratios that `npm run bench -- --peers` prints. Pure.
import { table } from './write-page.js';

/** @throws Error if there are no ratios */
export function readBench(output: string): string[] {
  const rows: string[][] = [];
  let scenario = '';
  for (const line of output.split('\n')) {
    const [, name] = /^(\S.*) \(load [\d.]+\)$/.exec(line) ?? [];
    if (name !== undefined) scenario = name;
    // Such a line compares the CPU alone.
    const [, bare] = /^ {2}this .* \| ([\d.]+ × \([^)]*\)) bare/.exec(line) ?? [];
    if (bare !== undefined) rows.push([scenario, 'bare proxy', bare, '–', '–', '–']);
    const [, other, figures] = /^ {2}this ÷ (.+?) +(CPU .*)$/.exec(line) ?? [];
    if (other === undefined || figures === undefined) continue;
    const of = new Map(
      figures.split(' | ').flatMap((figure) => {
        const [, what, value] = /^(.+?) ([\d.]+ ×.*)$/.exec(figure) ?? [];
        return what === undefined || value === undefined ? [] : [[what, value] as const];
      }),
    );
    const values = ['CPU', 'per second', 'p50', 'p99'].map((what) => of.get(what) ?? '–');
    rows.push([scenario, other.trim(), ...values]);
  }
  if (rows.length === 0) throw new Error('the output has no ratio');
  return table(['scenario', 'other', 'CPU', 'per second', 'p50', 'p99'], rows);
}
