// Replaces what PostgreSQL text cannot hold: NUL and lone surrogates. Documents that must be returned unchanged are stored
// through `storedJson` in `json` columns instead.

/** For text columns and values compared with them. */
export function storedText(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, '\ufffd');
}

export function storedTextOrNull(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : storedText(text);
}

/**
 * JSON text for a `json` column, passed as a string member of a recordset (`column::json` in the statement), where its
 * escapes are plain characters that jsonb accepts.
 */
export function storedJson(value: unknown): string {
  return JSON.stringify(value);
}

export function storedJsonOrNull(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}

export function arrayOf(rows: readonly string[]): string {
  return `[${rows.join(',')}]`;
}
