// Resolves a configured command to an absolute path when the worker starts. `npx [-y] package` means the
// installed package's own program, run with node; nothing is ever downloaded.
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, extname, isAbsolute, join, resolve } from 'node:path';
import { installedPath } from '#libs/process/find-installed.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';

export interface Program {
  file: string;
  args: readonly string[];
  /** The `node_modules` that contains the program, if it is a package. */
  packages?: string;
  /** Variables that make the package keep its files in the directory; the configured environment overrides them. */
  environment?: (directory: string) => Record<string, string>;
}

export interface CommandPlaces {
  /** PATH, absolute entries only. */
  path: string;
  /** Packages are searched in the `node_modules` of these directories and their parents. */
  packageRoots: readonly string[];
  /** The configuration file's directory, where relative paths begin. */
  directory: string;
}

/** The message says what the operator can do. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused';
  constructor(
    message: string,
    readonly code: 'tool_unavailable' | 'isolation_too_low' = 'tool_unavailable',
  ) {
    super(message);
  }
}

const scripts: ReadonlySet<string> = new Set('.js .mjs .cjs .ts .mts .py .rb .pl .sh .php .jar'.split(' '));

export const isScript = (path: string): boolean => scripts.has(extname(path));

/**
 * A word with its path made absolute, alone or behind `--option=`: `~` is the home directory; `./` and `../` begin at
 * `directory`, and so do existing paths with a slash, and existing scripts.
 */
export function absoluteWord(word: string, directory: string): string {
  const [, name = '', value = ''] = /^(--?[\w-]+=)?(.*)$/s.exec(word)!;
  if (value === '~' || value.startsWith('~/')) return name + join(homedir(), value.slice(1));
  const isRelative = /^\.{1,2}(?:\/|$)/.test(value);
  const mayBePath = /^[\w.]/.test(value) && (value.includes('/') || isScript(value)) && !value.includes('\0');
  if (isRelative || (mayBePath && existsSync(resolve(directory, value)))) return name + resolve(directory, value);
  return word;
}

/** The absolute path that a word names: alone, behind `--option=`, as a URL (`file:///…`, `sqlite:///…`). */
export function namedPath(word: string): string | undefined {
  const found = /^(?:--?[\w-]+=)?(?:[a-z]+:\/\/)?(\/.*)$/s.exec(word)?.[1];
  return found === undefined || found.includes('\0') ? undefined : resolve(found);
}

/** @throws CommandRefused */
export function resolveCommand(command: string, words: readonly string[], places: CommandPlaces): Program {
  const args = words.map((word) => absoluteWord(word, places.directory));
  if (command === 'npx' || command.endsWith('/npx')) return resolvePackage(args, places);
  // Commands are not resolved below the session's directory, whose contents do not come from the operator.
  const named = absoluteWord(command, places.directory);
  const file = /[\\/]/.test(named) ? resolve(places.directory, named) : findOnPath(named, places.path);
  if (file === undefined || !isProgram(file)) throw new CommandRefused(`the program '${command}' was not found`);
  return { file, args };
}

export function findOnPath(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .map((directory) => join(directory, name))
    .find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return isAbsolute(file) && statSync(file).isFile();
  } catch {
    return false;
  }
}

const checkout = installedPath('.');
const silentFlags: ReadonlySet<string> = new Set(['-y', '--yes', '-q', '--quiet']);

function resolvePackage(args: readonly string[], { packageRoots, directory: here }: CommandPlaces): Program {
  const at = args.findIndex((argument) => !silentFlags.has(argument));
  const spec = args[at];
  const [, name, version] = /^((?:@[\w.-]+\/)?[\w.-]+)(?:@(.+))?$/.exec(spec ?? '') ?? [];
  if (spec === undefined || name === undefined || name.startsWith('-') || name.startsWith('.')) {
    throw new CommandRefused('only `npx [-y] package[@version] arguments` is supported');
  }
  const directory = [here, ...packageRoots].map((root) => findPackage(root, name)).find((found) => found !== undefined);
  // An installation into a checkout would change its package.json, and `npm ci` would remove it.
  const install = resolve(here) === checkout ? `(cd .. && npm install ${spec})` : `npm install ${spec}`;
  if (directory === undefined) throw new CommandRefused(`the package ${name} is not installed: ${install}`);
  const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as JsonObject;
  const installed = typeof manifest['version'] === 'string' ? manifest['version'] : 'no version';
  if (!isWanted(installed, version)) {
    throw new CommandRefused(`${name} is installed as ${installed}, not ${version ?? ''}: ${install}`);
  }
  return {
    file: process.execPath,
    args: [join(directory, binOf(manifest, name)), ...args.slice(at + 1)],
    packages: directory.slice(0, -name.length - 1),
    ...(name === '@modelcontextprotocol/server-memory' ? { environment: memoryFile } : {}),
  };
}

/** The memory server writes beside its own program unless it gets a path. */
const memoryFile = (directory: string) => ({ MEMORY_FILE_PATH: join(directory, 'memory.jsonl') });

function findPackage(root: string, name: string): string | undefined {
  for (let directory = resolve(root); ; directory = dirname(directory)) {
    const found = join(directory, 'node_modules', name);
    if (isFile(join(found, 'package.json'))) return found;
    if (directory === dirname(directory)) return undefined;
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** A tag matches any installed version; of a version, the given numbers must be equal. */
function isWanted(installed: string, wanted: string | undefined): boolean {
  if (wanted === undefined || /^[a-z][\w-]*$/i.test(wanted)) return true;
  return installed === wanted || (/^\d+(\.\d+)?$/.test(wanted) && installed.startsWith(`${wanted}.`));
}

/** Like npx, chooses the only program, or the one named like the package. */
function binOf({ bin }: JsonObject, name: string): string {
  if (typeof bin === 'string') return bin;
  const bins = isJsonObject(bin) ? bin : {};
  const files = Object.values(bins);
  const chosen = files.length === 1 ? files[0] : bins[name.replace(/^@[^/]+\//, '')];
  if (typeof chosen !== 'string') throw new CommandRefused(`the package ${name} has no program that npx would run`);
  return chosen;
}
