// Tool servers of a worker that runs as root run as the user their directory belongs to (libs/workspace/own-directory.ts), by
// `setpriv` of util-linux: without root's rights, and without a way to get them back. Where the way to the program or to the
// workspace is closed to others (a checkout below /root), they may read everything and change nothing but their own.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { firstOwnUser } from '#libs/workspace/own-directory.js';
import { findOnPath } from '../resolve-command.js';

export interface UserChange {
  program: string;
  /** Whether it may leave the right to read everything. */
  mayReadAll: boolean;
}

export interface RunAs {
  /** Stand before the command. */
  words: readonly string[];
  /** Of that user, threads counted; absent where the user has other processes as well. */
  maxProcesses?: number;
}

/** CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID: without one of them what it started could not be looked after. */
const neededRights = 0b1110_1011n;
const maxProcesses = 1_024;

/** Undefined where the worker is not root, or root may not or cannot change to other users here. */
export function findUserChange(path: string): UserChange | undefined {
  const program = findOnPath('setpriv', path);
  if (program === undefined || process.getuid?.() !== 0) return undefined;
  if ((effectiveRights() & neededRights) !== neededRights) return undefined;
  const works = (mayReadAll: boolean) => {
    const words = wordsFor(program, { uid: firstOwnUser, gid: firstOwnUser }, mayReadAll);
    const trial = spawnSync(words[0]!, [...words.slice(1), program, '--version'], {
      env: { PATH: path },
      stdio: 'ignore',
      timeout: 5_000,
    });
    return trial.status === 0;
  };
  return works(false) ? { program, mayReadAll: works(true) } : undefined;
}

/**
 * How to run what needs the files `needed` in `directory`; undefined where it stays root's, or could not reach them.
 */
export async function runAsOwner(
  change: UserChange,
  directory: string,
  needed: readonly string[],
): Promise<RunAs | undefined> {
  const owner = await stat(directory);
  if (owner.uid === 0) return undefined;
  const reached = await Promise.all([...needed, dirname(directory)].map(isOpenToAll));
  const readAll = reached.includes(false);
  if (readAll && !change.mayReadAll) return undefined;
  const words = wordsFor(change.program, owner, readAll);
  return owner.uid >= firstOwnUser ? { words, maxProcesses } : { words };
}

function wordsFor(program: string, { uid, gid }: { uid: number; gid: number }, readAll: boolean): string[] {
  const words = [program, `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs'];
  if (!readAll) return words;
  const right = '+dac_read_search';
  return [...words, '--securebits=+no_setuid_fixup', `--inh-caps=${right}`, `--ambient-caps=${right}`];
}

function effectiveRights(): bigint {
  try {
    return BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`);
  } catch {
    return 0n;
  }
}

/** Whether others may read it, or enter it, and all directories on the way; also for what is not there. */
export async function isOpenToAll(path: string): Promise<boolean> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return true;
  const own = await stat(real);
  if ((own.mode & (own.isDirectory() ? 0o001 : 0o004)) === 0) return false;
  for (const start of new Set([dirname(real), dirname(path)])) {
    for (let directory = start; ; directory = dirname(directory)) {
      if (((await stat(directory)).mode & 0o001) === 0) return false;
      if (directory === dirname(directory)) break;
    }
  }
  return true;
}
