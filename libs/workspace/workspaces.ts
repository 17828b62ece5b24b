// The directory of all sessions' workspaces, each under its random name. Creates, opens and removes them; knows
// no sessions and does not decide who owns them.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Directory } from './directory.js';
import { errorCode } from './file-errors.js';
import { FreeSpace } from './free-space.js';
import { makeParentDirectory } from './own-directory.js';
import { removeTree, type RemovalOptions } from './remove-tree.js';
import { scanUsage } from './scan-usage.js';
import { UsageLedger, type ScannedUsage, type WorkspaceLimits } from './usage-ledger.js';
import { Workspace, type WorkspacePlace } from './workspace.js';

/** Marks directories that are being removed; after a crash the sweeper removes them. */
const doomedPrefix = '.removing-';
const markName = '.signalbox-directory';
const markForm = /^[0-9a-f]{32}$/;
/** Attempts to read the mark, which another process may have created but not written. */
const markAttempts = 20;
const markPauseMs = 50;
/** Not empty, since a full disk still accepts an empty file. */
const probeBytes = Buffer.alloc(4_096);

export interface WorkspaceBounds extends WorkspaceLimits {
  /** Nothing is written while the file system has less space free. Absent: no reserve. */
  minFreeBytes?: number;
}

export class Workspaces {
  private readonly ledger: UsageLedger;
  private marking: Promise<string> | undefined;
  readonly space: FreeSpace;

  private constructor(
    public root: string,
    readonly limits: WorkspaceBounds,
    private readonly isOurs: WorkspacePlace['isOurs'],
  ) {
    this.ledger = new UsageLedger(limits);
    this.space = new FreeSpace(root, limits.minFreeBytes ?? 0);
  }

  /**
   * @param dir created if missing, with mode 0700, or 0711 as root, whose sessions have users of their own.
   * If this fails, `probe` says why, and tries again.
   * @param isOurs whether this process may still finish a write that began then (`performance.now()`); absent: always.
   */
  static async open(dir: string, limits: WorkspaceBounds, isOurs?: WorkspacePlace['isOurs']): Promise<Workspaces> {
    const workspaces = new Workspaces(resolve(dir), limits, isOurs);
    await workspaces.make().catch(() => undefined);
    return workspaces;
  }

  /** Writes a file in the directory and removes it; creates the directory if missing. @throws the system's error */
  async probe(): Promise<void> {
    if (!existsSync(this.root)) await this.make();
    // After a crash the sweeper removes the file.
    const path = join(this.root, doomedName());
    try {
      await writeFile(path, probeBytes, { flag: 'wx', mode: 0o600 });
    } finally {
      await rm(path, { force: true });
    }
  }

  /** The random contents of a mark file, equal for all processes that share the directory. @throws the system's error */
  mark(): Promise<string> {
    this.marking ??= readMark(join(this.root, markName)).catch((error: unknown) => {
      this.marking = undefined;
      throw error;
    });
    return this.marking;
  }

  private async make(): Promise<void> {
    await makeParentDirectory(this.root);
    this.root = await realpath(this.root);
  }

  /** The files of a session; creates nothing yet. */
  workspace(session: { id: string; directory: string }): Workspace {
    return new Workspace({
      sessionId: session.id,
      hostPath: this.hostPath(session.directory),
      key: session.directory,
      ledger: this.ledger,
      space: this.space,
      isOurs: this.isOurs,
    });
  }

  /** The path of a session's directory on this host, which is never shown. @throws Error for an invalid name. */
  hostPath(directory: string): string {
    if (!/^[A-Za-z0-9_-]{1,128}$/.test(directory)) throw new Error('Not the name of a workspace directory');
    return join(this.root, directory);
  }

  /**
   * Hides a directory at once, then removes it; does nothing if it does not exist. Returns false if the time was not
   * enough; `finishRemovals` then continues.
   */
  async remove(directory: string, options: RemovalOptions = {}): Promise<boolean> {
    const doomed = doomedName();
    try {
      await rename(this.hostPath(directory), join(this.root, doomed));
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return true;
      throw error;
    } finally {
      this.ledger.expire(directory);
    }
    return this.removeChild(doomed, options);
  }

  /** Counts a workspace again; no write of the session waits for this count. */
  measure(directory: string, signal?: AbortSignal): Promise<ScannedUsage> {
    return scanUsage({ hostPath: this.hostPath(directory), ledger: this.ledger }, signal);
  }

  async directories(): Promise<string[]> {
    return (await readdir(this.root)).filter((name) => !name.startsWith('.'));
  }

  /**
   * Continues unfinished removals, each for the time that one may take; a failure goes to `onError` and affects only
   * that one. Returns how many are now removed.
   */
  async finishRemovals(onError: (error: unknown) => void, options: RemovalOptions = {}): Promise<number> {
    let finished = 0;
    for (const name of await readdir(this.root)) {
      if (!name.startsWith(doomedPrefix)) continue;
      try {
        if (await this.removeChild(name, options)) finished += 1;
      } catch (error) {
        options.signal?.throwIfAborted();
        onError(error);
      }
    }
    return finished;
  }

  private async removeChild(name: string, options: RemovalOptions): Promise<boolean> {
    const root = await Directory.openPath(this.root);
    try {
      return await removeTree(root, name, options);
    } finally {
      await root.close();
    }
  }
}

/** The first process makes the file with random contents; the others read it. */
async function readMark(path: string): Promise<string> {
  const made = randomBytes(16).toString('hex');
  try {
    await writeFile(path, made, { flag: 'wx', mode: 0o600 });
    return made;
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  for (let attempt = 0; attempt < markAttempts; attempt += 1) {
    const read = await readFile(path, 'utf8');
    if (markForm.test(read)) return read;
    await delay(markPauseMs);
  }
  throw new Error(`${markName} is not as it was made`);
}

const doomedName = () => `${doomedPrefix}${randomBytes(8).toString('hex')}`;
