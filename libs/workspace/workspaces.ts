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

/** Being removed: after a crash the sweeper removes them. */
const doomedPrefix = '.removing-';
const markName = '.signalbox-directory';
const markForm = /^[0-9a-f]{32}$/;
/** The time that another process may take between making the file and writing it. */
const markAttempts = 20;
const markPauseMs = 50;
/** Enough to detect a full disk, which still accepts an empty file. */
const probeBytes = Buffer.alloc(4_096);

export interface WorkspaceBounds extends WorkspaceLimits {
  /** Of their file system: with less free nothing is written. Absent: no reserve. */
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
   * @param dir made where it is missing, with mode 0700; as root, whose sessions have users of their own, with 0711.
   * Where it cannot be made, `probe` says why, and makes it once it can be.
   * @param isOurs whether what began then (`performance.now()`) is still this process's to write; absent: always.
   */
  static async open(dir: string, limits: WorkspaceBounds, isOurs?: WorkspacePlace['isOurs']): Promise<Workspaces> {
    const workspaces = new Workspaces(resolve(dir), limits, isOurs);
    await workspaces.make().catch(() => undefined);
    return workspaces;
  }

  /** Writes a file in the directory and removes it; creates the directory if missing. @throws the system's error */
  async probe(): Promise<void> {
    if (!existsSync(this.root)) await this.make();
    // After a crash the sweeper removes it.
    const path = join(this.root, doomedName());
    try {
      await writeFile(path, probeBytes, { flag: 'wx', mode: 0o600 });
    } finally {
      await rm(path, { force: true });
    }
  }

  /** What is in a file of the directory: the same for all processes that share it. @throws the system's error */
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

  /** Where the session's tools run on this host. Never to be shown. @throws Error for an invalid name. */
  hostPath(directory: string): string {
    if (!/^[A-Za-z0-9_-]{1,128}$/.test(directory)) throw new Error('Not the name of a workspace directory');
    return join(this.root, directory);
  }

  /**
   * Hides it at once, then removes it; does nothing if it does not exist. Returns whether all is removed: false if the
   * time was not enough; `finishRemovals` then continues.
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

  /** Counts one again, for code that checks all of them: no write of a session waits for it. */
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

/** The first process makes it, with random contents; the others read it. */
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
