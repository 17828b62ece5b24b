// Parses the JSON of weak models. Repairs commas before closing brackets and line breaks inside strings, up to a bound.
// Values keep the model's own text, so that numbers lose no digits.
import type { Json } from '#libs/schemas/json.js';
import { JsonScanner } from './json-scanner.js';

const maxRepairs = 1_000;

export interface LenientJson {
  value: Json;
  text: string;
}

/** @throws SyntaxError */
export function parseLenient(text: string): LenientJson {
  try {
    return { value: JSON.parse(text) as Json, text };
  } catch (error) {
    const repaired = repair(text);
    if (repaired === undefined) throw error;
    return { value: JSON.parse(repaired) as Json, text: repaired };
  }
}

const lineBreaks = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** Undefined if there is nothing to repair, or too much. */
function repair(text: string): string | undefined {
  const scanner = new JsonScanner();
  const pieces: string[] = [];
  let copied = 0;
  let comma = -1;
  const replace = (from: number, by: string) => {
    pieces.push(text.slice(copied, from), by);
    copied = from + 1;
  };
  for (let at = 0; at < text.length && pieces.length <= 2 * maxRepairs; at += 1) {
    const character = text[at]!;
    const escape = scanner.inString ? lineBreaks.get(character) : undefined;
    if (escape !== undefined) replace(at, escape);
    else if (!scanner.inString && (character === '}' || character === ']') && comma !== -1) replace(comma, '');
    scanner.step(character);
    if (character === ',' && !scanner.inString) comma = at;
    else if (scanner.inString || !isSpace(character)) comma = -1;
  }
  if (pieces.length === 0 || pieces.length > 2 * maxRepairs) return undefined;
  return pieces.join('') + text.slice(copied);
}

/**
 * The members of a JSON object by key, or the elements of an array by position, each as JSON text. `text` must be a valid
 * object or array. For a repeated key the last value counts.
 */
export function rawParts(text: string): Map<string, string> {
  const parts = new Map<string, string>();
  const start = text.search(/\S/);
  const keyed = text[start] === '{';
  const scanner = new JsonScanner();
  let depth = 0;
  let key: string | undefined;
  let from = start + 1;
  const end = (at: number) => {
    const value = text.slice(from, at).trim();
    if (value !== '') parts.set(key ?? String(parts.size), value);
    key = undefined;
    from = at + 1;
  };
  for (let at = start; at < text.length; at += 1) {
    const character = text[at]!;
    if (!scanner.inString) {
      if (character === '{' || character === '[') depth += 1;
      else if (character === '}' || character === ']') depth -= 1;
      if (depth === 0) {
        end(at);
        return parts;
      }
      if (depth === 1 && character === ',') end(at);
      if (depth === 1 && character === ':' && keyed && key === undefined) {
        key = JSON.parse(text.slice(from, at)) as string;
        from = at + 1;
      }
    }
    scanner.step(character);
  }
  return parts;
}

export const isSpace = (character: string): boolean =>
  character === ' ' || character === '\n' || character === '\t' || character === '\r';
