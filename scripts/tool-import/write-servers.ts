// Adds entries to the text of the configuration file, and lines to that of `.env`. What is there keeps its order and comments. Files
// are replaced by a rename, so that nobody reads half of one.
import { readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { Document, isMap, parseDocument } from 'yaml';
import { NotImportable, shown, type ImportedServer } from './imported-server.js';

type Entries = readonly Pick<ImportedServer, 'name' | 'entry'>[];

/** `mcpServers` with these alone, as it is shown and as it is added. */
export const yamlOf = (servers: Entries): string =>
  new Document({ mcpServers: Object.fromEntries(servers.map(({ name, entry }) => [name, entry])) }).toString({
    lineWidth: 0,
  });

/** @throws NotImportable for a name that is taken, or a file that cannot be read */
export function withServers(file: { path: string; text: string }, servers: Entries): string {
  const document = parseDocument(file.text);
  if (document.errors.length > 0 || (document.contents !== null && !isMap(document.contents)))
    throw new NotImportable(`${shown(file.path)} cannot be read: \`signalbox config check\` says why`);
  const map = document.get('mcpServers');
  if (map !== undefined && map !== null && !isMap(map))
    throw new NotImportable(`mcpServers in ${shown(file.path)} is not a map of servers`);
  const isTaken = servers.find(({ name }) => isMap(map) && map.has(name));
  if (isTaken !== undefined)
    throw new NotImportable(
      `${isTaken.name} is in ${shown(file.path)} already: give the new one another name with --as`,
    );
  if (!isMap(map)) document.set('mcpServers', document.createNode({}));
  for (const { name, entry } of servers) document.setIn(['mcpServers', name], document.createNode(entry));
  const added = document.get('mcpServers');
  // `mcpServers: {}` grows to lines.
  if (isMap(added) && added.items.length === servers.length) added.flow = false;
  const json = /\.json$/i.test(file.path) ? ({ defaultStringType: 'QUOTE_DOUBLE' } as const) : {};
  return document.toString({ lineWidth: 0, ...json });
}

/** @throws NotImportable for a value that such a file cannot hold */
export function withVariables(text: string, variables: ReadonlyMap<string, string>): string {
  if (variables.size === 0) return text;
  const lines = [...variables].map(([name, value]) => lineOf(name, value));
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${lines.join('\n')}\n`;
}

function lineOf(name: string, value: string): string {
  const candidates = ["'", '`', '"'].map((quote) => `${name}=${quote}${value}${quote}`);
  const isKept = (line: string) => parseEnv(line)[name] === value && Object.keys(parseEnv(line)).length === 1;
  const line = candidates.find((each) => isKept(each));
  if (line === undefined) throw new NotImportable(`the value of ${name} cannot be written into .env: set it yourself`);
  return line;
}

/** '' if there is none. */
export function textOfFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw new NotImportable(`${shown(path)} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unreadable'}`);
  }
}

/** @param before what the change was made from: nobody else's change is lost. @throws NotImportable */
export function replaceFile(path: string, before: string, text: string): void {
  if (text === before) return;
  if (textOfFile(path) !== before) throw new NotImportable(`${shown(path)} has changed meanwhile: run this again`);
  const stat = statSync(path, { throwIfNoEntry: false });
  const target = stat === undefined ? path : realpathSync(path);
  const beside = join(dirname(target), `.${basename(target)}.${process.pid}.new`);
  try {
    // The file may hold secrets: a new one is for its owner.
    writeFileSync(beside, text, { flag: 'wx', mode: stat === undefined ? 0o600 : stat.mode & 0o777, flush: true });
    renameSync(beside, target);
  } catch (error) {
    rmSync(beside, { force: true });
    throw new NotImportable(`${shown(path)} cannot be written: ${(error as NodeJS.ErrnoException).code ?? 'failed'}`);
  }
}
