// The entries of a file of Claude Desktop, Cursor or VS Code. Their references become ours; what Signalbox has no setting for is
// left out and reported.
import { parseEnv } from 'node:util';
import { environmentSettings, knownProviders } from '#libs/config/environment.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { checkedText, NotImportable, shown, validName, variableFor, variableForm } from './imported-server.js';
import type { ImportedServer } from './imported-server.js';

export interface ClientFile {
  entries: JsonObject;
  /** What VS Code asks a person for. */
  inputs: JsonObject[];
  /** Reads a file that an entry names, relative to this one. @throws NotImportable */
  readBeside(path: string): string;
}

const taken = new Set(
  'command args env envFile url serverUrl httpUrl type transport headers disabled enabled'.split(' '),
);

/** @throws NotImportable */
export function readClientServer(file: ClientFile, key: string, as?: string): ImportedServer {
  const given = file.entries[key];
  if (!isJsonObject(given)) throw new NotImportable('its entry is not an object');
  const name = validName(as ?? key);
  const server: ImportedServer = { name, entry: {}, moved: new Map(), needed: new Map(), notes: [] };
  const read = (value: unknown, what: string) => translated(checkedText(value, what), file, server);
  const { entry } = server;
  const url = given['url'] ?? given['serverUrl'] ?? given['httpUrl'];
  if (given['command'] !== undefined) {
    entry.command = read(given['command'], 'command');
    const args: unknown = given['args'] ?? [];
    if (!Array.isArray(args)) throw new NotImportable('args is not a list');
    if (args.length > 0) entry.args = args.map((word: unknown) => read(word, 'an argument'));
    const env = envOf(given, file, server, read);
    if (Object.keys(env).length > 0) entry.env = env;
  } else if (url !== undefined) {
    entry.url = read(url, 'url');
    const type = given['type'] ?? given['transport'];
    if (type === 'sse') entry.transport = 'sse';
    else if (type !== undefined) entry.transport = 'http';
    const headers = textsOf(given['headers'], 'headers', read);
    if (Object.keys(headers).length > 0) entry.headers = headers;
  } else throw new NotImportable('it has neither command nor url');
  if (given['disabled'] === true || given['enabled'] === false) entry.enabled = false;
  const ignored = Object.keys(given).filter((member) => !taken.has(member));
  if (ignored.length > 0) server.notes.push(`left out, without a setting here: ${shown(ignored.join(', '))}`);
  return server;
}

type ReadText = (value: unknown, what: string) => string;

function textsOf(value: unknown, what: string, read: ReadText): Record<string, string> {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw new NotImportable(`${what} is not an object`);
  const set = Object.entries(value).filter(([, each]) => each !== null);
  return Object.fromEntries(set.map(([key, each]) => [checkedText(key, what), read(each, `${what}.${shown(key)}`)]));
}

function envOf(given: JsonObject, file: ClientFile, server: ImportedServer, read: ReadText): Record<string, string> {
  const env: Record<string, string> = {};
  const { envFile } = given;
  if (envFile !== undefined) {
    for (const [key, value] of Object.entries(parseEnv(file.readBeside(checkedText(envFile, 'envFile'))))) {
      const variable = variableFor(server.name, key);
      server.moved.set(variable, checkedText(value, `a value of envFile`));
      env[key] = `\${${variable}}`;
    }
  }
  for (const [key, value] of Object.entries(textsOf(given['env'], 'env', read))) {
    if (!variableForm.test(key) || key === '__proto__')
      throw new NotImportable(`${shown(key)} is not the name of an environment variable`);
    env[key] = value;
  }
  return env;
}

const ownVariables = new Set([
  ...environmentSettings.keys(),
  ...knownProviders.flatMap(({ variable, baseUrlVariable }) => [variable, baseUrlVariable ?? variable]),
]);

/** `${env:NAME}`, `${input:id}` and the names that editors give to places. @throws NotImportable for others */
function translated(text: string, file: ClientFile, server: ImportedServer): string {
  return text.replaceAll(/\$\{([^}]*)\}/g, (whole, inside: string) => {
    if (inside === 'workspaceFolder' || inside === 'WORKSPACE') return '${WORKSPACE}';
    if (inside === 'userHome') return '~';
    if (inside === '/' || inside === 'pathSeparator') return '/';
    const input = /^input:(.+)$/s.exec(inside)?.[1];
    if (input !== undefined) {
      const asked = file.inputs.find(({ id }) => id === input);
      const variable = variableFor(server.name, input);
      server.needed.set(variable, typeof asked?.['description'] === 'string' ? shown(asked['description']) : '');
      return `\${${variable}}`;
    }
    const [, name = '', fallback] = /^(?:env:)?([^:]*)(:-.*)?$/s.exec(inside) ?? [];
    if (!variableForm.test(name)) throw new NotImportable(`${shown(whole)} means nothing here: replace it in the file`);
    // A file of somebody else must not send a key of the gateway to its server.
    if (ownVariables.has(name))
      throw new NotImportable(`it wants ${name}, which is a setting of Signalbox: give it a variable of its own`);
    if (fallback === undefined) server.needed.set(name, 'a variable that the file refers to');
    return `\${${name}${fallback ?? ''}}`;
  });
}
