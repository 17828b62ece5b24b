// A tool server read from a file of another program, as an entry of `mcpServers`, with the variables that it needs. Literal
// secrets are never part of the entry.

export interface ImportedEntry {
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  url?: string;
  transport?: 'http' | 'sse';
  headers?: Record<string, string>;
  network?: 'full' | { allow: string[] };
  enabled?: false;
}

export interface ImportedServer {
  name: string;
  entry: ImportedEntry;
  /** Variables whose values are in the file, by name: they belong into `.env`. */
  moved: Map<string, string>;
  /** Variables that somebody has to set, with what is known about them. */
  needed: Map<string, string>;
  /** What a person should know before it is added. */
  notes: string[];
}

/** One server of a file that cannot be added; the message says what to do instead. */
export class NotImportable extends Error {
  override readonly name = 'NotImportable';
}

export const variableForm = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What is written into a name of `mcpServers`: `io.github.ada/weather` is `weather`. @throws NotImportable */
export function validName(name: string): string {
  const last = name.slice(name.lastIndexOf('/') + 1);
  const valid = last
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replaceAll(/^[-_]+|[-_]+$/g, '')
    .slice(0, 64);
  if (valid === '') throw new NotImportable(`${shown(name)} has no letter that a name may have: name it with --as`);
  return valid;
}

/** The variable for a value of a server. The prefix keeps it apart from the settings of Signalbox. */
export function variableFor(server: string, what: string): string {
  const words = `${server}_${what}`.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '');
  return `MCP_${words.toUpperCase()}`;
}

/** For terminals: one line, without characters that could move the cursor or turn the text around. */
export function shown(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?');
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

/** @throws NotImportable for what no command line, variable or header should have */
export function checkedText(value: unknown, what: string): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') throw new NotImportable(`${what} is not text`);
  if (value.length > 16_384) throw new NotImportable(`${what} is longer than 16,384 characters`);
  if (/(?![\n\t])[\p{Cc}\p{Cf}\u2028\u2029]/u.test(value)) throw new NotImportable(`${what} has control characters`);
  return value;
}
