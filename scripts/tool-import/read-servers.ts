// Recognizes the format of a pasted file, and reads the servers that are asked for. What cannot be added does not stop the others.
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { readClientServer, type ClientFile } from './client-servers.js';
import { NotImportable, shown, type ImportedServer } from './imported-server.js';
import { moveSecrets } from './literal-secrets.js';
import { readRegistryServer } from './registry-server.js';

export interface ReadServers {
  servers: ImportedServer[];
  /** By the name in the file. */
  refused: { name: string; why: string }[];
}

export interface Asked {
  /** Of the server in the file; undefined: all. */
  name?: string | undefined;
  as?: string | undefined;
}

const maxServers = 500;

/** @throws NotImportable if nothing of it can be read */
export function readServers(text: string, asked: Asked, readBeside: ClientFile['readBeside']): ReadServers {
  const sources = sourcesOf(parseCommented(text), readBeside);
  if (sources.size === 0) throw new NotImportable('there are no tool servers in it');
  const chosen = chosenOf([...sources.keys()], asked);
  const read: ReadServers = { servers: [], refused: [] };
  for (const key of chosen) {
    try {
      const server = sources.get(key)!(asked.as);
      moveSecrets(server);
      if (read.servers.some(({ name }) => name === server.name))
        throw new NotImportable(`another server of the file is named ${server.name} too: add it alone, with --as`);
      read.servers.push(server);
    } catch (error) {
      if (!(error instanceof NotImportable)) throw error;
      read.refused.push({ name: shown(key), why: error.message });
    }
  }
  return read;
}

function chosenOf(names: readonly string[], { name, as }: Asked): readonly string[] {
  if (name === undefined) {
    if (names.length > maxServers)
      throw new NotImportable(`it has ${names.length} servers: name one, or at most ${maxServers} in a file`);
    if (as !== undefined && names.length > 1)
      throw new NotImportable(`--as names one server, and the file has ${names.length}: say which, as NAME`);
    return names;
  }
  const found = names.find((each) => each === name) ?? names.find((each) => each.endsWith(`/${name}`));
  if (found === undefined)
    throw new NotImportable(`it has no server '${shown(name)}'. It has: ${shown(names.join(', '))}`);
  return [found];
}

type Source = (as: string | undefined) => ImportedServer;

function sourcesOf(file: unknown, readBeside: ClientFile['readBeside']): Map<string, Source> {
  if (!isJsonObject(file)) throw new NotImportable('it is not a JSON object');
  const { servers } = file;
  if (Array.isArray(servers)) return new Map(servers.filter(isJsonObject).map(registrySource));
  if (isJsonObject(file['server']) || isDescription(file)) return new Map([registrySource(file)]);
  // The settings of VS Code have them below `mcp`.
  const holder = isJsonObject(file['mcp']) ? file['mcp'] : file;
  const entries = holder['mcpServers'] ?? holder['servers'];
  if (!isJsonObject(entries))
    throw new NotImportable(
      'it has none of: mcpServers, servers, packages, remotes. Is it the file of another program?',
    );
  const inputs = Array.isArray(holder['inputs']) ? holder['inputs'].filter(isJsonObject) : [];
  const client: ClientFile = { entries, inputs, readBeside };
  return new Map(Object.keys(entries).map((key) => [key, (as) => readClientServer(client, key, as)]));
}

const isDescription = (file: JsonObject) => Array.isArray(file['packages']) || Array.isArray(file['remotes']);

/** The registry's answers wrap it in `server`. */
function registrySource(given: JsonObject): [string, Source] {
  const file = isJsonObject(given['server']) ? given['server'] : given;
  const name = typeof file['name'] === 'string' ? file['name'] : '';
  return [name, (as) => readRegistryServer(file, as)];
}

/** JSON, also with comments and commas at the end, as editors allow. @throws NotImportable */
function parseCommented(text: string): unknown {
  // An open comment or string ends with the text, so that each character is looked at once.
  const plain = text
    .replace(/^\uFEFF/, '')
    .replaceAll(
      /("[^"\\\n]*(?:\\.[^"\\\n]*)*"?)|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g,
      (_, string?: string) => string ?? ' ',
    );
  const strict = plain.replaceAll(
    /("[^"\\\n]*(?:\\.[^"\\\n]*)*"?)|,(?=\s*[}\]])/g,
    (_, string?: string) => string ?? '',
  );
  try {
    return JSON.parse(strict);
  } catch {
    // The parser's own words quote the text, which may have secrets.
    throw new NotImportable('it is not JSON');
  }
}
