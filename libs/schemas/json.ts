// JSON values: their types, and tolerant ways to read them.

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses text as a JSON object. Returns an empty object if it is anything else. */
export function jsonObjectOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** The value if it is text, else ''. */
export const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '');
