// Grants a server the paths that its arguments and environment name, since the operator wrote them. Never grants the whole
// machine or a whole home directory, and only reading in the system's own directories.
import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { dataHolder, isIn, safeHome } from './readable-paths.js';
import { isScript, namedPath } from './resolve-command.js';

export interface Grants {
  /** Real paths of directories and files. */
  read: string[];
  write: string[];
  /** Tells the operator why a confined server must not have all of these paths. */
  refusal?: string;
}

interface Named {
  path: string;
  /** The option or variable that has the path as its value. */
  name: string;
}

const system = '/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix /gnu /etc /boot /dev /proc /run /sys'.split(' ');
/** Data files whose programs write beside them, such as a journal or a copy that is then renamed. */
const keptFiles: ReadonlySet<string> = new Set('.db .db3 .duckdb .json .jsonl .ndjson .sqlite .sqlite3'.split(' '));
const settings = /\.(?:cer|crt|env|ini|pem|toml|ya?ml)$|cert|conf|cred|key|secret|setting|token/i;

/**
 * @param args with absolute paths, without the program.
 * @param kept directories and files that tool servers must not read.
 */
export function grantsOf(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  kept: readonly string[],
): Grants {
  const read = new Set<string>();
  const write = new Set<string>();
  const holdsData = dataHolder(kept);
  const add = (path: string, readOnly = false) => void (readOnly || isSystem(path) ? read : write).add(path);
  const addFile = ({ path, name }: Named) => {
    const real = realOf(path);
    const directory = realOf(dirname(path));
    const isFixed = isProgram(real) || settings.test(`${name} ${basename(path)}`);
    if (existsSync(real)) add(real, isFixed);
    if (isFixed || !keptFiles.has(extname(path)) || !isDirectory(directory)) return;
    if (!isWhole(directory) && !isSystem(directory) && !holdsData(directory)) write.add(directory);
  };
  const named = namedIn(args);
  for (const each of named) {
    if (isDirectory(each.path)) add(realOf(each.path));
    // Scripts are programs: readable-paths.ts grants them with their imports.
    else if (!isScript(each.path)) addFile(each);
  }
  for (const [name, value] of Object.entries(env)) {
    const path = namedPath(value);
    // Variables such as HOME are not meant as grants.
    if (path === undefined || holdsData(realOf(path)) || isWhole(realOf(path))) continue;
    if (isDirectory(path)) add(realOf(path));
    else addFile({ path, name });
  }
  const whole = named.find(({ path }) => isDirectory(path) && isWhole(realOf(path)));
  return { read: [...read], write: [...write], ...(whole === undefined ? {} : { refusal: wholeSentence(whole.path) }) };
}

/** Whether an argument is a directory. If so, the server gets no other directory as its root. */
export const namesDirectory = (args: readonly string[]): boolean => namedIn(args).some(({ path }) => isDirectory(path));

function namedIn(args: readonly string[]): Named[] {
  return args.flatMap((word, index) => {
    const path = namedPath(word);
    const before = args[index - 1] ?? '';
    const name = word.startsWith('-') ? word.replace(/=.*$/s, '') : before.startsWith('-') ? before : '';
    return path === undefined ? [] : [{ path, name }];
  });
}

const wholeSentence = (path: string): string =>
  `its arguments name ${path}, which holds ${path === '/' ? 'everything on this machine' : 'all files of a user'}: name the ` +
  'directories in it that the server may use, or list in `paths` what it may read and write';

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

function isWhole(path: string): boolean {
  const home = safeHome();
  return path === '/' || (home !== undefined && isIn(home, path));
}

const isSystem = (path: string): boolean => system.some((directory) => isIn(path, directory));

const isProgram = (path: string): boolean =>
  isScript(path) || ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o111) !== 0;

/** The real path. A missing file keeps its name in the real path of its directory. */
function realOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return existsSync(dirname(path)) ? join(realpathSync(dirname(path)), basename(path)) : path;
}
