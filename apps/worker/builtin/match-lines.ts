// Finds lines by plain text or a regular expression, in linear time. Long lines are cut, so that memory is bounded.
import { RE2JS } from 're2js';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '#libs/schemas/errors.js';
import type { OpenFile } from '#libs/workspace/open-file.js';
import { decodePieces } from './decode-text.js';

export type Matches = (text: string) => boolean;

export interface LineMatch {
  line: number;
  text: string;
}

const maxPatternLength = 1_000;
const maxLineLength = 16 * 1024;
const shownLineLength = 500;

/** @throws AppError invalid_tool_arguments */
export function matcher(pattern: string, options: { regex: boolean; ignoreCase: boolean }): Matches {
  if (pattern.length > maxPatternLength) {
    throw new AppError('invalid_tool_arguments', `A pattern may have at most ${maxPatternLength} characters`);
  }
  if (!options.regex) {
    if (!options.ignoreCase) return (text) => text.includes(pattern);
    const lower = pattern.toLowerCase();
    return (text) => text.toLowerCase().includes(lower);
  }
  const compiled = compile(pattern, options.ignoreCase);
  return (text) => compiled.matcher(text).find();
}

/** Supports `*`, `**` (across directories), `?` and `{a,b}`. Without a slash, only the last name of a path is matched. */
export function globMatcher(glob: string): Matches {
  if (glob.length > maxPatternLength) {
    throw new AppError('invalid_tool_arguments', `A pattern may have at most ${maxPatternLength} characters`);
  }
  const compiled = compile(`^${globExpression(glob)}$`, false);
  const whole = glob.includes('/');
  return (path) => compiled.matcher(whole ? path : path.slice(path.lastIndexOf('/') + 1)).find();
}

function compile(pattern: string, ignoreCase: boolean): RE2JS {
  try {
    return RE2JS.compile(pattern, RE2JS.DOTALL | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0));
  } catch {
    throw new AppError('invalid_tool_arguments', 'The pattern is not a regular expression in RE2 syntax');
  }
}

const globParts = new Map(Object.entries({ '{': '(?:', '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' }));

function globExpression(glob: string): string {
  let alternatives = 0;
  return glob.replaceAll(/\*\*\/|\*\*|\*|\?|\{|\}|,|[^*?{},]+/g, (part) => {
    if (part === '{') alternatives += 1;
    if (part === '}') return alternatives-- > 0 ? ')' : '\\}';
    if (part === ',') return alternatives > 0 ? '|' : ',';
    return globParts.get(part) ?? RE2JS.quote(part);
  });
}

/** Finds lines from byte `start`, where line numbers start at 1. Stops at NUL, since such a file is not text. */
export async function* matchLines(
  file: OpenFile,
  matches: Matches,
  options: { start?: number; signal: AbortSignal },
): AsyncGenerator<LineMatch> {
  let held = '';
  let line = 1;
  const start = options.start ?? 0;
  for await (const piece of decodePieces(file.read({ start }, options.signal), 'utf8', start)) {
    if (piece.text.includes('\0')) return;
    const lines = (held + piece.text).split('\n');
    held = lines.pop()!.slice(0, maxLineLength);
    for (const text of lines) {
      if (matches(text.slice(0, maxLineLength))) yield { line, text: text.slice(0, shownLineLength) };
      line += 1;
    }
    // Let other work of the process run between pieces.
    await setImmediate();
  }
  if (held !== '' && matches(held)) yield { line, text: held.slice(0, shownLineLength) };
}
