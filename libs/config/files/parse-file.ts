// Parses signalbox.yaml (or JSON, which is YAML) to a tree, with the line of every key. Pure.
import { isMap, isSeq, LineCounter, parseDocument, type Document } from 'yaml';
import type { ConfigProblem, TextPosition } from '../config-error.js';
import type { Path } from '../printing/schema-walk.js';

export interface ParsedFile {
  tree: Record<string, unknown>;
  /** `signalbox.yaml:12`, the line of the key or of the nearest one above it. */
  origin(path: Path): string;
  /** The place of the key or the entry, or of the nearest one above it. */
  position(path: Path): TextPosition | undefined;
  problems: ConfigProblem[];
}

const maxBytes = 1024 * 1024;

export function parseFile(file: { path: string; text: string }): ParsedFile {
  const empty = { tree: {}, origin: () => file.path, position: () => undefined };
  if (file.text.length > maxBytes) {
    return { ...empty, problems: [{ key: file.path, message: `is larger than ${maxBytes} bytes` }] };
  }
  const lines = new LineCounter();
  const document = parseDocument(file.text, { lineCounter: lines });
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => ({
      key: file.path,
      message: withoutSource(error.message),
      origin: `${file.path}:${lines.linePos(error.pos[0]).line}`,
      at: positionOf(lines, error.pos[0]),
    }));
    return { ...empty, problems };
  }
  const origin = (path: Path) => {
    const offset = keyOffset(document, path);
    return offset === undefined ? file.path : `${file.path}:${lines.linePos(offset).line}`;
  };
  const position = (path: Path) => {
    const offset = nodeOffset(document, path);
    return offset === undefined ? undefined : positionOf(lines, offset);
  };
  let tree: unknown;
  try {
    tree = document.toJS({ maxAliasCount: 100 });
    if (isRecursive(tree))
      return { ...empty, problems: [{ key: file.path, message: 'has a value that contains itself' }] };
  } catch (error) {
    const message = error instanceof Error ? withoutSource(error.message) : 'unreadable';
    return { ...empty, problems: [{ key: file.path, message }] };
  }
  if (tree === null || tree === undefined) return { tree: {}, origin, position, problems: [] };
  if (typeof tree !== 'object' || Array.isArray(tree)) {
    return { ...empty, problems: [{ key: file.path, message: 'must be a map of settings' }] };
  }
  return { tree: tree as Record<string, unknown>, origin, position, problems: [] };
}

/** An alias inside its own anchor makes a recursive value. */
function isRecursive(value: unknown, above: readonly unknown[] = []): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return above.includes(value) || Object.values(value).some((inner) => isRecursive(inner, [...above, value]));
}

/** The first line, without the position, which is in the origin, and the quoted text, which may be secret. */
function withoutSource(message: string): string {
  const [first = ''] = message.split('\n');
  return first.replace(/ at line \d+, column \d+:?$/, '').replace(/(?<=\S): .*$/, '');
}

function keyOffset(document: Document, path: Path): number | undefined {
  let offset: number | undefined;
  for (let length = 1; length <= path.length; length += 1) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    if (!isMap(parent)) break;
    const pair = parent.items.find(({ key }) => String(key) === String(path[length - 1]));
    const range = (pair?.key as { range?: [number, number, number] } | undefined)?.range;
    if (range === undefined) break;
    offset = range[0];
  }
  return offset;
}

function positionOf(lines: LineCounter, offset: number): TextPosition {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

/** Unlike `keyOffset`, also within lists. */
function nodeOffset(document: Document, path: Path): number | undefined {
  let offset: number | undefined;
  let here: unknown = document.contents;
  for (const part of path) {
    let node: unknown;
    if (isMap(here)) {
      const pair = here.items.find(({ key }) => String(key) === String(part));
      node = pair?.key;
      here = pair?.value;
    } else if (isSeq(here)) here = node = here.items[Number(part)];
    const range = (node as { range?: [number, number, number] } | null | undefined)?.range;
    if (range === undefined) break;
    [offset] = range;
  }
  return offset;
}
