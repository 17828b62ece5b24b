// The user that runs the tool servers of a root worker: the owner of their directory (libs/workspace/own-directory.ts).
import { accessSync, constants, readFileSync, realpathSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface ToolUser {
  uid: number;
  gid: number;
}

/** CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID: without one of them the worker could not manage its servers. */
const neededRights = 0b1100_1011n;
/** The right to enter closed directories and to read, which a confined server may keep. */
const readSearch = 0b100n;

export const changesUser = (): boolean =>
  process.getuid?.() === 0 && (effectiveRights() & neededRights) === neededRights;

export const mayKeepReading = (): boolean => (effectiveRights() & readSearch) !== 0n;

/** The owner of the directory; undefined if the server runs as the worker's user. */
export async function userOf(directory: string): Promise<ToolUser | undefined> {
  if (!changesUser()) return undefined;
  const { uid, gid } = await stat(directory);
  return uid === 0 ? undefined : { uid, gid };
}

function effectiveRights(): bigint {
  try {
    return BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`);
  } catch {
    return 0n;
  }
}

/** Whether all users may read or enter the path and its parents; also true for a missing path. */
export function isOpenToAll(path: string): boolean {
  let real: string;
  try {
    accessSync(path, constants.F_OK);
    real = realpathSync(path);
  } catch {
    return true;
  }
  const own = statSync(real);
  if ((own.mode & (own.isDirectory() ? 0o001 : 0o004)) === 0) return false;
  for (const start of new Set([dirname(real), dirname(path)])) {
    for (let directory = start; ; directory = dirname(directory)) {
      if ((statSync(directory).mode & 0o001) === 0) return false;
      if (directory === dirname(directory)) break;
    }
  }
  return true;
}
