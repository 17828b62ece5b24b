// What PostgreSQL cannot hold in text: NUL and lone surrogates, both replaced. Documents that must come back as they
// were go through `storedJson` into `json` columns instead.

/** For text columns and for values that they are compared with. */
export function storedText(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, '\ufffd');
}

export function storedTextOrNull(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : storedText(text);
}

/**
 * JSON text for a `json` column, as a string member of a recordset (`column::json` in the statement): there its escapes
 * are plain characters that jsonb has nothing against.
 */
export function storedJson(value: unknown): string {
  return JSON.stringify(value);
}

export function storedJsonOrNull(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}

/** Rows that are JSON texts already, as one JSON array. */
export function arrayOf(rows: readonly string[]): string {
  return `[${rows.join(',')}]`;
}
