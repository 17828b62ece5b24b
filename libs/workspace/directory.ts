// Directories held by descriptor. A name is opened below an open directory (`/proc/self/fd/<n>/<name>`), one component
// at a time, links refused: swapping a directory for a link meanwhile has no effect.
// Without /proc (not Linux) a name is joined to the path and the real path compared after opening: a determined local
// process can win that race there; see docs/workspaces.md.
import { constants, type BigIntStats } from 'node:fs';
import { chmod, lstat, mkdir, open, realpath, type FileHandle } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { errorCode, hardLinked, isDirectory, isLink, notDirectory, notFound, notRegular } from './file-errors.js';
import { shownPath } from './workspace-path.js';

const procFs = process.platform === 'linux';
const noFollow = (constants.O_NOFOLLOW as number | undefined) ?? 0;
const directoryFlag = (constants.O_DIRECTORY as number | undefined) ?? 0;
const nonBlock = (constants.O_NONBLOCK as number | undefined) ?? 0;
const noTerminal = (constants.O_NOCTTY as number | undefined) ?? 0;
/** Linux: a descriptor of the entry itself, which opens nothing and needs no permission on it. */
const pathOnly = 0o10000000;

export type Name = string | Buffer;

export class Directory {
  private constructor(
    readonly handle: FileHandle,
    /** Used only without /proc. */
    private readonly hostPath: string,
  ) {}

  /** Opens a path that the operator chose; the last component may not be a link. */
  static async openPath(hostPath: string): Promise<Directory> {
    return new Directory(await open(hostPath, constants.O_RDONLY | directoryFlag | noFollow), hostPath);
  }

  /** The path to pass to the file system for a name in this directory. The name is one component. */
  child(name: Name): Name {
    const parent = procFs ? `/proc/self/fd/${this.handle.fd}` : this.hostPath;
    return typeof name === 'string' ? join2(parent, name) : Buffer.concat([Buffer.from(`${parent}/`), name]);
  }

  /** A path of the directory itself, for calls that take a path. */
  self(): string {
    return procFs ? `/proc/self/fd/${this.handle.fd}` : this.hostPath;
  }

  async openDirectory(name: Name): Promise<Directory> {
    const handle = await open(this.child(name), constants.O_RDONLY | directoryFlag | noFollow);
    const hostPath = procFs ? '' : join(this.hostPath, name.toString());
    if (!procFs) await stillInside(handle, this.hostPath, hostPath);
    return new Directory(handle, hostPath);
  }

  /** Opens a regular file with one link. A pipe or device is recognised before it can block or act. */
  async openFile(name: Name, flags: number, shown: string): Promise<FileHandle> {
    const before = await this.stat(name);
    if (before === undefined) throw notFound(shown);
    checkRegular(before, shown);
    const handle = await open(this.child(name), flags | noFollow | nonBlock | noTerminal);
    try {
      checkRegular(await handle.stat({ bigint: true }), shown);
      if (!procFs) await stillInside(handle, this.hostPath, join(this.hostPath, name.toString()));
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Creates a file whose writes append. Fails if any entry has the name. */
  createFile(name: string, mode: number): Promise<FileHandle> {
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL | noFollow;
    return open(this.child(name), flags, mode);
  }

  /** The entry's own status: links are not followed. */
  async stat(name: Name): Promise<BigIntStats | undefined> {
    try {
      return await lstat(this.child(name), { bigint: true });
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Lets the owner enter a directory, whatever its mode. Does nothing except on Linux. */
  async unlock(name: Name): Promise<void> {
    if (!procFs) return;
    const handle = await open(this.child(name), pathOnly | noFollow | directoryFlag);
    try {
      await chmod(`/proc/self/fd/${handle.fd}`, 0o700);
    } finally {
      await handle.close();
    }
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

const join2 = (parent: string, name: string) => `${parent}${procFs ? '/' : sep}${name}`;

export function checkRegular(stats: BigIntStats, shown: string): void {
  if (stats.isSymbolicLink()) throw isLink(shown);
  if (stats.isDirectory()) throw isDirectory(shown);
  if (!stats.isFile()) throw notRegular(shown);
  if (stats.nlink > 1n) throw hardLinked(shown);
}

async function stillInside(handle: FileHandle, parent: string, child: string): Promise<void> {
  const [realParent, real] = await Promise.all([realpath(parent), realpath(child)]);
  if (real.startsWith(realParent + sep)) return;
  await handle.close();
  throw isLink(child.slice(parent.length + 1));
}

export interface DescendOptions {
  /** Called before each missing directory is created; if absent, a missing directory is `file_not_found`. */
  beforeCreate?: (depth: number) => Promise<{ made(): void; notMade(): void }>;
  /** Owner of created directories, if we may set it (root only). */
  owner?: { uid: number; gid: number };
}

/** Opens the directory at `names` below `root`, which stays open. The caller closes the result. */
export async function descend(
  root: Directory,
  names: readonly string[],
  options: DescendOptions = {},
): Promise<Directory> {
  let current = root;
  try {
    for (const index of names.keys()) {
      const next = await enter(current, names.slice(0, index + 1), options);
      if (current !== root) await current.close();
      current = next;
    }
    if (current !== root) return current;
    return await Directory.openPath(`${root.self()}/.`);
  } catch (error) {
    if (current !== root) await current.close();
    throw error;
  }
}

async function enter(parent: Directory, names: readonly string[], options: DescendOptions): Promise<Directory> {
  const name = names.at(-1)!;
  try {
    return await parent.openDirectory(name);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' && options.beforeCreate !== undefined) {
      return make(parent, names, options as Required<DescendOptions>);
    }
    throw await directoryError(error, parent, names);
  }
}

async function make(
  parent: Directory,
  names: readonly string[],
  options: DescendOptions & Required<Pick<DescendOptions, 'beforeCreate'>>,
): Promise<Directory> {
  const name = names.at(-1)!;
  const place = await options.beforeCreate(names.length);
  try {
    await mkdir(parent.child(name), 0o700);
    place.made();
  } catch (error) {
    place.notMade();
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  try {
    const made = await parent.openDirectory(name);
    if (options.owner !== undefined) await made.handle.chown(options.owner.uid, options.owner.gid);
    return made;
  } catch (error) {
    throw await directoryError(error, parent, names);
  }
}

async function directoryError(cause: unknown, parent: Directory, names: readonly string[]): Promise<unknown> {
  const shown = shownPath(names);
  if (errorCode(cause) === 'ENOENT') return notFound(shown);
  if (errorCode(cause) !== 'ENOTDIR' && errorCode(cause) !== 'ELOOP') return cause;
  const stats = await parent.stat(names.at(-1)!).catch(() => undefined);
  return stats?.isSymbolicLink() === true ? isLink(shown) : notDirectory(shown);
}
