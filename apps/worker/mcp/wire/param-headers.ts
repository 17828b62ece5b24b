// Arguments that a tool server of 2026-07-28 wants told in HTTP headers too (`x-mcp-header` in a tool's schema), so that
// what stands before it can route by them. The SDK tells them; this says which tools may be offered. Pure.
import { isJsonObject } from '#libs/schemas/json.js';

const keyword = 'x-mcp-header';
const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const mirrored = new Set<unknown>(['string', 'integer', 'boolean']);
const maxDepth = 32;

/**
 * Whether a tool declares any. Undefined where a declaration breaks the rules, which ask for primitive arguments that are
 * members of objects all the way down, each name once whatever its case: such a tool must not be offered.
 */
export function declaresHeaders(inputSchema: unknown): boolean | undefined {
  const names = new Set<string>();
  return collect(inputSchema, 0, names) ? names.size > 0 : undefined;
}

/** False where a declaration is wrong, or where no argument can be named. */
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

/** Somewhere below stands a declaration, where none may. */
function declares(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return false;
  return keyword in value || Object.values(value).some((each) => declares(each, depth + 1));
}
