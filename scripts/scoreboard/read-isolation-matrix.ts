// Reads the totals of the table that `npm run isolation:matrix` prints. Pure.
import { table } from './write-page.js';

const cellsOf = (line: string) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

/** @throws Error if there is no table */
export function readIsolationMatrix(output: string): string[] {
  const lines = output.split('\n');
  const head = lines.find((line) => line.startsWith('| attack | what |'));
  const totals = lines.filter((line) => line.startsWith('| **')).map(cellsOf);
  if (head === undefined || totals.length === 0) throw new Error('the output has no table');
  const columns = cellsOf(head).slice(2);
  // The columns are many and the families few.
  return table(
    ['level, worker', ...totals.map(([family]) => family!.replaceAll('*', ''))],
    columns.map((column, index) => [column, ...totals.map((cells) => cells[index + 2] ?? '')]),
  );
}
