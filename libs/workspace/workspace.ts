// The files of one session, by the names its tools and callers use. Every path is resolved below a descriptor of the
// session's directory; every growth is counted first. Shows no host path. See docs/workspaces.md.
import { constants } from 'node:fs';
import { rename, rmdir, unlink } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { AppError } from '#libs/schemas/errors.js';
import { Directory, descend } from './directory.js';
import { errorCode, isDirectory, isLink, notFound, toFileError, toStorageError } from './file-errors.js';
import { makeOwnDirectory } from './own-directory.js';
import { listEntries, type Listing, type ListOptions } from './list-entries.js';
import { OpenFile, toFileInfo, type FileInfo } from './open-file.js';
import { removeTree } from './remove-tree.js';
import { scanUsage } from './scan-usage.js';
import { quota, type DirectoryUsage } from './usage-ledger.js';
import { parsePath, reservedPrefix, shownPath, shownWorkspacePath } from './workspace-path.js';
import { writeFile, type WriteOptions, type WriteSource, type WriteTarget, type Written } from './write-file.js';

export interface WorkspacePlace extends Pick<WriteTarget, 'isOurs' | 'ledger' | 'space'> {
  /** The session's name, as in `/mcp_workspaces/<id>`. */
  sessionId: string;
  hostPath: string;
  key: string;
}

export class Workspace {
  readonly shownPath: string;

  constructor(private readonly place: WorkspacePlace) {
    this.shownPath = shownWorkspacePath(place.sessionId);
  }

  get limits() {
    return this.place.ledger.limits;
  }

  /** Opens a regular file; the caller closes it. @throws AppError file_not_found, path_outside_workspace, invalid_value */
  async openFile(path: string): Promise<OpenFile> {
    const { parents, name } = this.target(path);
    return this.within(parents, path, async (parent) => {
      const handle = await parent.openFile(name, constants.O_RDONLY, path);
      try {
        return new OpenFile(handle, toFileInfo(await handle.stat({ bigint: true })));
      } catch (error) {
        await handle.close();
        throw error;
      }
    });
  }

  /** The type of an entry; links are reported, not followed. */
  async stat(path: string): Promise<FileInfo> {
    const names = this.names(path);
    return this.within(names.slice(0, -1), path, async (parent) => {
      const stats = await parent.stat(names.at(-1) ?? '.');
      if (stats === undefined) throw notFound(path);
      return toFileInfo(stats);
    });
  }

  /**
   * Writes a whole file or nothing: readers see the old content until the new is complete. `append` adds to the
   * existing content, or restores it.
   * @throws AppError workspace_quota_exceeded, workspace_disk_full, path_outside_workspace, precondition_failed,
   * invalid_value
   */
  async write(path: string, source: WriteSource, options: WriteOptions = {}): Promise<Written> {
    const { parents, name } = this.target(path);
    const { space, ledger, key } = this.place;
    const { signal, sizeHint = 0 } = options;
    const size = source instanceof Uint8Array ? source.length : sizeHint;
    await space.check(size);
    await this.ensure();
    await this.usage({ signal });
    // Count again before refusing by an old count, since a stream cannot be read twice.
    if (ledger.nearlyFull(key, size)) await this.usage({ signal, force: true });
    return this.within(
      parents,
      path,
      (parent) => writeFile({ ...this.place, parent, name, shown: path }, source, options),
      options.createDirectories === true,
    );
  }

  async makeDirectory(path: string, signal?: AbortSignal): Promise<void> {
    const names = this.names(path);
    await this.place.space.check();
    await this.ensure();
    await this.usage({ signal });
    await this.within(names, path, async () => undefined, true);
  }

  /** Lists a directory; `.` is the workspace. */
  async list(path: string, options: ListOptions): Promise<Listing> {
    const names = this.names(path);
    const prefix = names.length === 0 ? '' : `${shownPath(names)}/`;
    const { maxDepth } = this.limits;
    try {
      return await this.within(names, path, (directory) => listEntries(directory, prefix, { ...options, maxDepth }));
    } catch (error) {
      const isNotMade = names.length === 0 && error instanceof AppError && error.code === 'file_not_found';
      if (isNotMade) return { entries: [], truncated: false };
      throw error;
    }
  }

  /** Runs `body` on the open directory and closes it. For readers that walk (search, archive). */
  withDirectory<T>(path: string, body: (directory: Directory) => Promise<T>): Promise<T> {
    return this.within(this.names(path), path, body);
  }

  /** The open directory itself; the caller closes it. */
  async openDirectory(path: string): Promise<Directory> {
    const root = await this.openRoot(path);
    try {
      return await descend(root, this.names(path));
    } catch (error) {
      throw toFileError(error, path);
    } finally {
      await root.close();
    }
  }

  /** Removes a file, a link or an empty directory; with `recursive` a directory and its contents. */
  async remove(
    path: string,
    options: { recursive?: boolean; expected?: WriteOptions['expected']; signal?: AbortSignal } = {},
  ): Promise<void> {
    const { parents, name } = this.target(path);
    const { ledger, key } = this.place;
    await ledger.exclusively(key, options.signal, () =>
      this.within(parents, path, async (parent) => {
        const stats = await parent.stat(name);
        if (stats === undefined) throw notFound(path);
        options.expected?.(toFileInfo(stats));
        if (!stats.isDirectory()) {
          await unlink(parent.child(name));
          ledger.adjust(key, { bytes: -Number(stats.size), files: -1 });
        } else if (options.recursive === true) await this.removeTree(parent, name, options.signal);
        else await this.removeEmpty(parent, name, path);
      }),
    );
  }

  /** Renames within the workspace. The new name must be free unless `overwrite` replaces a file. */
  async move(
    from: string,
    to: string,
    options: { overwrite?: boolean; createDirectories?: boolean; signal?: AbortSignal } = {},
  ): Promise<void> {
    const source = this.target(from);
    const target = this.target(to);
    await this.usage({ signal: options.signal });
    const { ledger, key } = this.place;
    await ledger.exclusively(key, options.signal, () =>
      this.within(source.parents, from, async (fromParent) => {
        const stats = await fromParent.stat(source.name);
        if (stats === undefined) throw notFound(from);
        if (stats.isSymbolicLink()) throw isLink(from);
        const toPlace = async (toParent: Directory) => {
          const there = await toParent.stat(target.name);
          if (there !== undefined && (options.overwrite !== true || there.isDirectory())) {
            throw new AppError('invalid_value', `'${to}' already exists`, { param: 'path' });
          }
          await rename(fromParent.child(source.name), toParent.child(target.name)).catch((error: unknown) => {
            if (errorCode(error) !== 'EINVAL') throw error;
            throw new AppError('invalid_value', 'A directory cannot be moved into itself', { param: 'path' });
          });
          if (there !== undefined) ledger.adjust(key, { bytes: -Number(there.size), files: -1 });
        };
        await this.within(target.parents, to, toPlace, options.createDirectories === true);
      }),
    );
  }

  /** The workspace's usage, counted again if the last count is old. */
  async usage(options: { signal?: AbortSignal | undefined; force?: boolean } = {}): Promise<DirectoryUsage> {
    const { bytes, files, directories } = await this.place.ledger.refresh(
      this.place.key,
      () => scanUsage(this.place, options.signal),
      options,
    );
    return { bytes, files, directories };
  }

  /** For readers of the whole workspace. @throws AppError workspace_quota_exceeded if directories are deeper than the walk. */
  async checkDepth(signal?: AbortSignal): Promise<void> {
    await this.usage({ signal, force: true });
    this.place.ledger.reserve(this.place.key).grow(0);
  }

  /** Creates the session's directory and its `.tmp` if missing. */
  async ensure(): Promise<void> {
    try {
      await makeOwnDirectory(this.place.hostPath);
    } catch (error) {
      throw toStorageError(error, this.place.hostPath);
    }
  }

  private names(path: string): string[] {
    return parsePath(path, this.place.sessionId);
  }

  private target(path: string): { parents: string[]; name: string } {
    const names = this.names(path);
    const name = names.at(-1);
    if (name === undefined) throw isDirectory(path);
    return { parents: names.slice(0, -1), name };
  }

  private async openRoot(path: string): Promise<Directory> {
    try {
      return await Directory.openPath(this.place.hostPath);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') throw notFound(path);
      throw toStorageError(error, this.place.hostPath);
    }
  }

  private async within<T>(
    names: readonly string[],
    path: string,
    body: (directory: Directory) => Promise<T>,
    create = false,
  ): Promise<T> {
    const root = await this.openRoot(path);
    let directory: Directory | undefined;
    try {
      directory = await descend(root, names, create ? { ...(await this.creation(root)) } : {});
      return await body(directory);
    } catch (error) {
      throw toFileError(error, path);
    } finally {
      await directory?.close();
      await root.close();
    }
  }

  /** Counts each created directory, and gives it to the workspace's owner if created by root. */
  private async creation(root: Directory) {
    const { ledger, key } = this.place;
    const { uid, gid } = await root.handle.stat();
    const foreign = process.getuid?.() === 0 && uid !== 0;
    return {
      ...(foreign ? { owner: { uid, gid } } : {}),
      beforeCreate: async (depth: number) => {
        if (depth > ledger.limits.maxDepth) throw quota(`at most ${ledger.limits.maxDepth} directories deep`);
        const place = ledger.reserve(key);
        place.grow(0, 1);
        return { made: () => place.keep({ directories: 1 }), notMade: () => place.release() };
      },
    };
  }

  private async removeTree(parent: Directory, name: string, signal?: AbortSignal): Promise<void> {
    // The rename hides the whole tree at once; a later count removes what a crash or a lack of time leaves.
    const doomed = `${reservedPrefix}${randomBytes(8).toString('hex')}`;
    await rename(parent.child(name), parent.child(doomed));
    this.place.ledger.expire(this.place.key);
    await removeTree(parent, doomed, { signal });
  }

  private async removeEmpty(parent: Directory, name: string, path: string): Promise<void> {
    try {
      await rmdir(parent.child(name));
    } catch (error) {
      if (errorCode(error) !== 'ENOTEMPTY' && errorCode(error) !== 'EEXIST') throw error;
      throw new AppError('invalid_value', `Directory '${path}' is not empty`, { param: 'path' });
    }
    this.place.ledger.adjust(this.place.key, { directories: -1 });
  }
}
