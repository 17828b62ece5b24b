// Arguments that a tool server of 2026-07-28 wants told in HTTP headers too (`x-mcp-header` in a tool's schema), so that
// what stands before it can route by them. Pure: definitions and arguments in, headers out.
import { isJsonObject } from '#libs/schemas/json.js';

export interface ParamHeader {
  /** Without its prefix. */
  name: string;
  /** Members that lead to the argument. */
  path: readonly string[];
}

const keyword = 'x-mcp-header';
const headerPrefix = 'Mcp-Param-';
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const mirrored = new Set<unknown>(['string', 'integer', 'boolean']);
/** What a header says as it is; anything else goes as Base64. */
const plain = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;
const encoded = /^=\?base64\?.*\?=$/i;
const maxDepth = 32;

/**
 * What a tool declares: primitive arguments that are members of objects all the way down, each name once whatever its
 * case. Undefined where a declaration breaks the rules: such a tool must not be offered.
 */
export function declaredHeaders(inputSchema: unknown): ParamHeader[] | undefined {
  const found: ParamHeader[] = [];
  if (!collect(inputSchema, [], found)) return undefined;
  const names = new Set(found.map(({ name }) => name.toLowerCase()));
  return names.size === found.length ? found : undefined;
}

/** False where a declaration is wrong, or where no argument can be named. */
function collect(schema: unknown, path: readonly string[], found: ParamHeader[]): boolean {
  if (!isJsonObject(schema) || path.length > maxDepth) return true;
  if (keyword in schema) {
    const name = schema[keyword];
    const right = path.length > 0 && typeof name === 'string' && token.test(name) && mirrored.has(schema['type']);
    if (!right) return false;
    found.push({ name, path });
  }
  return Object.entries(schema).every(([member, value]) => {
    if (member !== 'properties' || !isJsonObject(value)) return !declares(value, 0);
    return Object.entries(value).every(([name, property]) => collect(property, [...path, name], found));
  });
}

/** Somewhere below stands a declaration, where none may. */
function declares(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return false;
  return keyword in value || Object.values(value).some((each) => declares(each, depth + 1));
}

/** Nothing for arguments that are null, left out, or no primitives. */
export function headersOf(declared: readonly ParamHeader[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { name, path } of declared) {
    const value = path.reduce<unknown>((at, member) => (isJsonObject(at) ? at[member] : undefined), args);
    const text = typeof value === 'number' && !Number.isSafeInteger(value) ? undefined : value;
    if (typeof text !== 'string' && typeof text !== 'number' && typeof text !== 'boolean') continue;
    headers[headerPrefix + name] = headerValue(String(text));
  }
  return headers;
}

function headerValue(text: string): string {
  return plain.test(text) && !encoded.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
