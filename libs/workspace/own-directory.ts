// A directory for a session's files, or for those of a shared tool server, with its `.tmp`. Where Signalbox runs as root it
// is given to a user id that no account has: tool servers run as that user, without root's rights. What keeps sessions apart is
// the isolation of command servers (docs/isolation.md). Where root may not give files away they stay root's.
import { chmod, lchown, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Directory, type Name } from './directory.js';
import { errorCode } from './file-errors.js';
import { walk } from './walk.js';
import { temporaryDirectory } from './workspace-path.js';

/** The user ids from here to 2³¹ - 2 are for no account and no container (systemd.io/UIDS-GIDS). */
export const toolUser = 0x7000_0000;
const deepest = 64;

const isRoot = (): boolean => process.getuid?.() === 0;

/** A directory of such directories. Only its owner can list it; as root the others may pass, or none would come to its own. */
export async function makeParentDirectory(hostPath: string): Promise<void> {
  const mode = isRoot() ? 0o711 : 0o700;
  await mkdir(hostPath, { recursive: true, mode });
  // What was made before may be closed to others. Shared storage may refuse; what is in it is 0700 anyway.
  await chmod(hostPath, mode).catch(() => undefined);
}

/**
 * Makes what is missing, the directory around it too; also gives away what an earlier version made as root.
 * @param mount a file system of its own on the directory, before anything is made in it
 */
export async function makeOwnDirectory(hostPath: string, mount?: () => Promise<void>): Promise<void> {
  await makeMissing(hostPath).catch(async (error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
    await makeParentDirectory(dirname(hostPath));
    await makeMissing(hostPath);
  });
  await mount?.();
  const directory = await Directory.openPath(hostPath);
  try {
    const made = await makeMissing(directory.child(temporaryDirectory));
    if (!isRoot()) return;
    const { uid, gid } = await directory.handle.stat();
    if (uid === 0) await giveAway(directory, toolUser);
    else if (made) await giveTemporary(directory, uid, gid);
  } finally {
    await directory.close();
  }
}

/** By descriptor: a tool server that runs meanwhile may have put something else under the name. */
async function giveTemporary(directory: Directory, uid: number, gid: number): Promise<void> {
  const temporary = await directory.openDirectory(temporaryDirectory);
  try {
    await temporary.handle.chown(uid, gid);
  } finally {
    await temporary.close();
  }
}

/** The directory itself last: who finds it given finds all in it given. */
async function giveAway(directory: Directory, user: number): Promise<void> {
  try {
    for await (const { parent, name, stats } of walk(directory, {
      maxDepth: deepest,
      includeReserved: true,
      includeTemporary: true,
    })) {
      // Another name of it may be anywhere.
      if (!stats.isDirectory() && stats.nlink > 1n) continue;
      await lchown(parent.child(name), user, user).catch(unlessGone);
    }
    await directory.handle.chown(user, user);
  } catch (error) {
    if (!['EPERM', 'EINVAL', 'EROFS', 'ENOTSUP'].includes(errorCode(error) ?? '')) throw error;
  }
}

/** Whether it was missing. */
async function makeMissing(path: Name): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

function unlessGone(error: unknown): void {
  if (errorCode(error) !== 'ENOENT') throw error;
}
