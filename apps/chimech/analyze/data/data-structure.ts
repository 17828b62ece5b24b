// What an analysis says about data.

export const dataFormats = ['csv', 'tsv', 'json', 'ndjson', 'yaml'] as const;
export type DataFormat = (typeof dataFormats)[number];

export type ValueType = 'integer' | 'number' | 'boolean' | 'date' | 'string' | 'array' | 'object';

export interface DataColumn {
  /** Of nested objects with dots: `address.city`. */
  name: string;
  /** `empty`: no row has a value. */
  type: ValueType | 'mixed' | 'empty';
  /** Rows without a value. */
  missing: number;
  distinct: number;
  /** Of numbers and dates the values, of texts their lengths. */
  range?: { min: number | string; max: number | string } | { min_length: number; max_length: number };
  sample: (string | number | boolean)[];
}

export interface DataStructure {
  format: DataFormat | 'unknown';
  /** Whether all of it could be read. */
  valid: boolean;
  rows: number;
  columns: DataColumn[];
  /** How many there are, where fewer are listed above. */
  column_count: number;
  /** Objects and arrays inside each other; a table of plain values is 1. */
  depth: number;
  /** The character between the columns of CSV. */
  delimiter?: string;
  /** Whether the first row of CSV names the columns. */
  header?: boolean;
}

/** Data as it was parsed. */
export interface ParsedData {
  format: DataFormat | 'unknown';
  value: unknown;
  /** Whether values are texts whose types are to be found. */
  untyped: boolean;
  delimiter?: string;
  header?: boolean;
  /** What could not be read, with where. */
  problems: { en: string; zh: string }[];
}
