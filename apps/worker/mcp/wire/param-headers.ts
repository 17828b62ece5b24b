// Arguments that a tool server of 2026-07-28 wants in HTTP headers too (`x-mcp-header` in a tool's schema), so that proxies
// can route by them. The SDK sends the headers; this file decides which tools may be offered. Pure.
import { isJsonObject } from '#libs/schemas/json.js';

const keyword = 'x-mcp-header';
const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const mirrored = new Set<unknown>(['string', 'integer', 'boolean']);
const maxDepth = 32;

/**
 * Whether a tool declares headers. Undefined if a declaration is invalid, so that the tool must not be offered: an argument
 * must be primitive and below objects only, and a name must be unique, ignoring case.
 */
export function declaresHeaders(inputSchema: unknown): boolean | undefined {
  const names = new Set<string>();
  return collect(inputSchema, 0, names) ? names.size > 0 : undefined;
}

/** False if a declaration is invalid, or in a place where none is allowed. */
function collect(schema: unknown, depth: number, names: Set<string>): boolean {
  if (!isJsonObject(schema) || depth > maxDepth) return true;
  if (keyword in schema) {
    const declared = schema[keyword];
    const name = typeof declared === 'string' ? declared.toLowerCase() : '';
    const isName = token.test(name) && !names.has(name);
    if (depth === 0 || !isName || !mirrored.has(schema['type'])) return false;
    names.add(name);
  }
  return Object.entries(schema).every(([member, value]) => {
    if (member !== 'properties' || !isJsonObject(value)) return !declares(value, 0);
    return Object.values(value).every((property) => collect(property, depth + 1, names));
  });
}

/** Whether there is a declaration anywhere in the value. */
function declares(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return false;
  return keyword in value || Object.values(value).some((each) => declares(each, depth + 1));
}
