// Tables with a character between their columns.
import Papa from 'papaparse';
import type { ParsedData } from './data-structure.js';

const delimiters = [',', '\t', ';', '|'];
const maxProblems = 5;

export interface ParsedTable extends ParsedData {
  /** Share of the rows that are as wide as the first. */
  regular: number;
  columns: number;
}

export function parseCsv(content: string, asked: 'csv' | 'tsv' | undefined): ParsedTable {
  const delimiter = asked === 'tsv' ? '\t' : undefined;
  const { data, errors, meta } = Papa.parse<string[]>(content, {
    skipEmptyLines: 'greedy',
    delimitersToGuess: delimiters,
    ...(delimiter === undefined ? {} : { delimiter }),
  });
  const first = data[0] ?? [];
  const header = looksLikeHeader(first, data[1]);
  const names = columnNames(first, header);
  const rows = header ? data.slice(1) : data;
  const problems = errors
    .filter(({ type }) => type !== 'Delimiter')
    .map(({ row, message }) => ({
      en: `Row ${(row ?? 0) + 1}: ${message.toLowerCase()}`,
      zh: `第 ${(row ?? 0) + 1} 行：引号不匹配`,
    }));
  const wrong = rows.filter((row) => row.length !== first.length).length;
  if (wrong > 0) {
    const at = rows.findIndex((row) => row.length !== first.length) + (header ? 2 : 1);
    problems.push({
      en: `${wrong} rows have more or fewer columns than the first (${first.length}); the first of them is row ${at}`,
      zh: `${wrong} 行的列数与首行（${first.length}）不同，首个是第 ${at} 行`,
    });
  }
  return {
    format: meta.delimiter === '\t' ? 'tsv' : 'csv',
    value: rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]]))),
    untyped: true,
    delimiter: meta.delimiter,
    header,
    problems: problems.slice(0, maxProblems),
    regular: rows.length === 0 ? 0 : 1 - wrong / rows.length,
    columns: first.length,
  };
}

/** Names are there, differ, and are no numbers; and they are not all there is. */
function looksLikeHeader(first: readonly string[], second: readonly string[] | undefined): boolean {
  const names = first.map((cell) => cell.trim());
  if (second === undefined || new Set(names).size !== names.length) return false;
  return names.every((name) => name !== '' && Number.isNaN(Number(name)));
}

function columnNames(first: readonly string[], header: boolean): string[] {
  return first.map((name, index) => (header ? name.trim() : `column_${index + 1}`));
}
