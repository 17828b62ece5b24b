// Paths that a confined server may read: the system, its own program with the packages beside it, and files that its
// arguments name. Never grants access to Signalbox's data, whatever the configuration names.
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isScript, namedPath } from './resolve-command.js';

const etc = `alternatives ca-certificates ca-certificates.conf crypto-policies debian_version fonts gai.conf gitconfig group
  host.conf hosts java-17-openjdk java-21-openjdk ld.so.cache ld.so.conf ld.so.conf.d locale.alias locale.conf localtime
  lsb-release mime.types networks nsswitch.conf os-release passwd pki/ca-trust pki/tls/certs pki/tls/cert.pem
  pki/tls/openssl.cnf profile protocols python3 resolv.conf services ssl/certs ssl/cert.pem ssl/openssl.cnf timezone xattr.conf`;
const others = `/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store /gnu/store
  /proc /sys/devices/system /sys/fs/cgroup /sys/kernel/mm/transparent_hugepage
  /dev/zero /dev/full /dev/random /dev/urandom`;

/** Programs, libraries, and the parts of /etc without secrets. */
const systemPaths: readonly string[] = [...others.split(/\s+/), ...etc.split(/\s+/).map((name) => `/etc/${name}`)];

export interface ReadablePaths {
  paths: string[];
  /** Configured paths that are not granted because Signalbox's data is in them. */
  refused: string[];
}

export const isIn = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(join(directory, '/'));

/** Tells whether a real path is, contains, or lies in one that tool servers must not read. */
export function dataHolder(kept: readonly string[]): (path: string) => boolean {
  const closed = kept.filter((path) => existsSync(path)).map((path) => realpathSync(path));
  return (path) => closed.some((each) => isIn(each, path) || isIn(path, each));
}

/**
 * @param words the program and its arguments. Directories among them are not granted unless they are in `more`.
 * @param kept directories and files that tool servers must not read.
 */
export function readablePaths(
  words: readonly string[],
  more: readonly string[],
  kept: readonly string[],
): ReadablePaths {
  const holdsData = dataHolder(kept);
  const paths = new Set<string>();
  const refused: string[] = [];
  for (const path of systemPaths) {
    if (!existsSync(path)) continue;
    if (holdsData(realpathSync(path))) refused.push(path);
    else paths.add(path);
  }
  const give = (path: string) => {
    if (holdsData(path)) refused.push(path);
    else paths.add(path);
  };
  const files = words.map((word) => namedPath(word)).map((path) => (path !== undefined && isFile(path) ? path : ''));
  for (const [index, path] of files.entries()) {
    if (path === '') continue;
    const real = realpathSync(path);
    if (index > 0 && !isScript(real)) {
      give(real);
      continue;
    }
    const directory = programDirectory(path, real);
    if (directory !== '/' && directory !== safeHome() && !holdsData(directory)) paths.add(directory);
    // A program in a home directory grants only itself; a program beside our data also the scripts that it may import.
    else for (const each of [real, ...(holdsData(directory) ? scriptsIn(dirname(real)) : [])]) give(each);
    for (const beside of besideProgram(real, holdsData)) give(beside);
  }
  for (const path of more) if (existsSync(path)) give(realpathSync(path));
  return { paths: [...paths], refused };
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

const mostScripts = 100;

function scriptsIn(directory: string): string[] {
  if (directory === '/' || directory === safeHome()) return [];
  const names = readdirSync(directory, { withFileTypes: true });
  return names
    .filter((each) => each.isFile() && isScript(each.name))
    .slice(0, mostScripts)
    .map(({ name }) => join(directory, name));
}

/** An installation has `bin` beside `lib`, and so does a Python environment. */
function programDirectory(path: string, real: string): string {
  const environment = dirname(dirname(path));
  if (existsSync(join(environment, 'pyvenv.cfg'))) return realpathSync(environment);
  return basename(dirname(real)) === 'bin' ? dirname(dirname(real)) : dirname(real);
}

/** Paths where Node looks for a script's imports and module type. */
function besideProgram(real: string, holdsData: (path: string) => boolean): string[] {
  const found: string[] = [];
  for (let directory = dirname(real); directory !== dirname(directory); directory = dirname(directory)) {
    if (basename(directory) === 'node_modules') continue;
    for (const name of ['node_modules', 'package.json']) {
      const path = join(directory, name);
      if (!existsSync(path)) continue;
      found.push(realpathSync(path));
      if (name === 'package.json') found.push(...importsOf(directory));
      else for (const linked of linkedPackages(path)) found.push(...packagePaths(linked, holdsData));
    }
  }
  return found;
}

/** Packages that are links, made by `npm link`, `npm install <directory>` or npm workspaces. */
function linkedPackages(modules: string): string[] {
  const links: string[] = [];
  for (const { name } of readdirSync(modules, { withFileTypes: true }).filter((each) => each.name.startsWith('@'))) {
    if (isDirectory(join(modules, name))) links.push(...linksIn(join(modules, name)));
  }
  return [...linksIn(modules), ...links].filter((path) => !isIn(path, realpathSync(modules)));
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const linksIn = (directory: string): string[] =>
  readdirSync(directory, { withFileTypes: true })
    .filter((each) => each.isSymbolicLink() && isDirectory(join(directory, each.name)))
    .map(({ name }) => realpathSync(join(directory, name)));

/** A linked package as a whole. If it holds our data, only what its package.json lets its own code import. */
function packagePaths(directory: string, holdsData: (path: string) => boolean): string[] {
  const modules = join(directory, 'node_modules');
  if (directory === '/' || directory === safeHome()) return [];
  if (!holdsData(directory)) return [directory];
  const named = [join(directory, 'package.json'), modules].filter((path) => existsSync(path));
  return [...named.map((path) => realpathSync(path)), ...importsOf(directory)];
}

/** The directories and files behind the `imports` of a package.json (nodejs.org/api/packages.html#subpath-imports). */
function importsOf(directory: string): string[] {
  try {
    const { imports = {} } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { imports?: object };
    const targets = textsIn(imports).filter((target) => target.startsWith('./'));
    const paths = targets.map((target) => join(directory, target.replace(/[^/]*\*.*$/s, '')));
    return paths
      .filter((path) => existsSync(path))
      .map((path) => realpathSync(path))
      .filter((path) => path !== realpathSync(directory) && isIn(path, realpathSync(directory)));
  } catch {
    return [];
  }
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

export function safeHome(): string | undefined {
  try {
    return realpathSync(homedir());
  } catch {
    return undefined;
  }
}
