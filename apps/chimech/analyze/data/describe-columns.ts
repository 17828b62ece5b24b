// The columns of records: types, gaps, ranges. Objects inside records are columns of their own, arrays are values.
import type { DataColumn, ValueType } from './data-structure.js';

/** Columns that are described; the count is of all. */
const maxColumns = 200;
/** Objects inside each other that become columns. */
const maxLevels = 4;
const maxSamples = 3;
const maxSampleLength = 80;
/** As spreadsheets and data frames write a gap. */
const gaps = new Set(['', 'na', 'n/a', 'nan', 'null', 'none', '-']);
const date = /^\d{4}([-/])\d{1,2}\1\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

interface Column {
  types: Map<ValueType, number>;
  present: number;
  distinct: Set<unknown>;
  sample: (string | number | boolean)[];
  low: number;
  high: number;
  lowDate: string;
  highDate: string;
}

export function describeColumns(rows: readonly unknown[], untyped: boolean): { columns: DataColumn[]; count: number } {
  const columns = new Map<string, Column>();
  for (const row of rows) {
    if (typeof row === 'object' && row !== null && !(row instanceof Date))
      addRecord(columns, row, { prefix: '', untyped });
    else add(columns, 'value', untyped ? typed(row) : row);
  }
  const described = [...columns].slice(0, maxColumns).map(([name, column]) => describe(name, column, rows.length));
  return { columns: described, count: columns.size };
}

function addRecord(
  columns: Map<string, Column>,
  record: object,
  { prefix, untyped }: { prefix: string; untyped: boolean },
) {
  const level = prefix.split('.').length;
  for (const [key, value] of Object.entries(record) as [string, unknown][]) {
    const name = prefix + (Array.isArray(record) ? `column_${Number(key) + 1}` : key);
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
    if (isNested && level < maxLevels && Object.keys(value).length > 0) {
      addRecord(columns, value, { prefix: `${name}.`, untyped });
    } else add(columns, name, untyped ? typed(value) : value);
  }
}

/** What a cell of a table means. Numbers of more than 15 digits, and those with leading zeros, are names. */
function typed(cell: unknown): unknown {
  if (typeof cell !== 'string') return undefined;
  const text = cell.trim();
  if (gaps.has(text.toLowerCase())) return undefined;
  if (/^[-+]?[\d.]/.test(text) && /^[-+.\deE]{1,24}$/.test(text)) {
    const digits = text.replace(/\D/g, '').length;
    const value = Number(text);
    if (Number.isFinite(value) && digits <= 15 && !/^[-+]?0\d/.test(text)) return value;
  }
  const lower = text.toLowerCase();
  if (lower === 'true' || lower === 'false') return lower === 'true';
  return text;
}

function add(columns: Map<string, Column>, name: string, value: unknown): void {
  const column = columns.get(name) ?? newColumn();
  columns.set(name, column);
  if (value === undefined || value === null) return;
  const type = typeOf(value);
  column.types.set(type, (column.types.get(type) ?? 0) + 1);
  column.present += 1;
  const plain = plainValue(value);
  if (!column.distinct.has(plain) && column.sample.length < maxSamples) {
    column.sample.push(
      typeof plain === 'string' && plain.length > maxSampleLength ? `${plain.slice(0, maxSampleLength)}…` : plain,
    );
  }
  column.distinct.add(plain);
  if (type === 'date') {
    const text = String(plain);
    if (column.lowDate === '' || text < column.lowDate) column.lowDate = text;
    if (text > column.highDate) column.highDate = text;
  } else if (typeof plain !== 'boolean' && type !== 'array' && type !== 'object') {
    const size = typeof plain === 'number' ? plain : plain.length;
    column.low = Math.min(column.low, size);
    column.high = Math.max(column.high, size);
  }
}

function newColumn(): Column {
  const bounds = { low: Infinity, high: -Infinity, lowDate: '', highDate: '' };
  return { types: new Map(), present: 0, distinct: new Set(), sample: [], ...bounds };
}

function typeOf(value: unknown): ValueType {
  if (typeof value === 'string') return isDate(value) ? 'date' : 'string';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'boolean') return 'boolean';
  if (Array.isArray(value)) return 'array';
  if (value instanceof Date) return 'date';
  return 'object';
}

function isDate(text: string): boolean {
  return text.length <= 40 && date.test(text) && !Number.isNaN(Date.parse(text.replaceAll('/', '-')));
}

function plainValue(value: unknown): string | number | boolean {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

function describe(name: string, column: Column, rows: number): DataColumn {
  const kinds = [...column.types.keys()];
  const isNumber = kinds.every((kind) => kind === 'integer' || kind === 'number');
  const type = kinds.length === 0 ? 'empty' : kinds.length === 1 ? kinds[0]! : isNumber ? 'number' : 'mixed';
  const { low, high } = column;
  let range: DataColumn['range'];
  if (type === 'date') range = { min: column.lowDate, max: column.highDate };
  else if (type === 'integer' || type === 'number') range = { min: low, max: high };
  else if (type === 'string') range = { min_length: low, max_length: high };
  return {
    name,
    type,
    missing: rows - column.present,
    distinct: column.distinct.size,
    ...(range === undefined ? {} : { range }),
    sample: column.sample,
  };
}
