// What a confined server may read: the system, its own program with the packages beside it, and what its arguments
// name. Never grants access to Signalbox's data, whatever the configuration names.
import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, extname, isAbsolute, join } from 'node:path';

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
  /** Named by the configuration, but not granted because Signalbox's data is in it. */
  refused: string[];
}

const scripts: ReadonlySet<string> = new Set('.js .mjs .cjs .ts .mts .py .rb .pl .sh .php .jar'.split(' '));

/**
 * @param words the program and its arguments.
 * @param kept directories and files that tool servers must not read.
 */
export function readablePaths(
  words: readonly string[],
  more: readonly string[],
  kept: readonly string[],
): ReadablePaths {
  const closed = kept.filter((path) => existsSync(path)).map((path) => realpathSync(path));
  const isIn = (path: string, directory: string) => path === directory || path.startsWith(join(directory, '/'));
  const holdsData = (path: string) => closed.some((each) => isIn(each, path) || isIn(path, each));
  const paths = new Set<string>();
  const refused: string[] = [];
  for (const path of systemPaths) {
    if (!existsSync(path)) continue;
    if (holdsData(realpathSync(path))) refused.push(path);
    else paths.add(path);
  }
  const give = (path: string, otherwise?: string) => {
    if (!holdsData(path)) paths.add(path);
    else if (otherwise !== undefined && !holdsData(otherwise)) paths.add(otherwise);
    else refused.push(path);
  };
  for (const [index, path] of namedPaths(words, more).entries()) {
    const real = realpathSync(path);
    const isProgram = statSync(real).isFile() && (index === 0 || scripts.has(extname(real)));
    if (!isProgram) {
      give(real);
      continue;
    }
    const directory = programDirectory(path, real);
    // A program in a home directory, or beside our data, grants only itself.
    if (directory === '/' || directory === safeHome()) give(real);
    else give(directory, real);
    for (const beside of besideProgram(real)) give(beside);
  }
  return { paths: [...paths], refused };
}

/** Existing paths among the words, alone or behind `=`. */
function namedPaths(words: readonly string[], more: readonly string[]): string[] {
  const named = words.map((word) => (isAbsolute(word) ? word : (/^-[\w-]+=(\/.*)$/s.exec(word)?.[1] ?? '')));
  return [...named, ...more].filter((path) => path !== '' && existsSync(path));
}

/** An installation has `bin` beside `lib`, and so does a Python environment. */
function programDirectory(path: string, real: string): string {
  const environment = dirname(dirname(path));
  if (existsSync(join(environment, 'pyvenv.cfg'))) return realpathSync(environment);
  return basename(dirname(real)) === 'bin' ? dirname(dirname(real)) : dirname(real);
}

/** Where Node looks for what a script imports, and for the kind of module that it is. */
function besideProgram(real: string): string[] {
  const found: string[] = [];
  for (let directory = dirname(real); directory !== dirname(directory); directory = dirname(directory)) {
    for (const name of ['node_modules', 'package.json']) {
      const path = join(directory, name);
      if (basename(directory) !== 'node_modules' && existsSync(path)) found.push(realpathSync(path));
    }
  }
  return found;
}

function safeHome(): string | undefined {
  try {
    return realpathSync(homedir());
  } catch {
    return undefined;
  }
}
