// A directory for a session's files, or those of a shared tool server, with its `.tmp`. If Signalbox runs as root, it
// belongs to a user id without an account: tool servers run as that user, without root's rights. Sessions are separated
// by the isolation of command servers (docs/isolation.md). If root may not change owners, the directory stays root's.
import { chmod, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Directory, type Name } from './directory.js';
import { errorCode } from './file-errors.js';
import { temporaryDirectory } from './workspace-path.js';

/** User ids from here to 2³¹ - 2 are used by no account and no container (systemd.io/UIDS-GIDS). */
export const toolUser = 0x7000_0000;

const isRoot = (): boolean => process.getuid?.() === 0;

/** A parent of such directories. Only its owner can list it; as root, others may pass through to their own. */
export async function makeParentDirectory(hostPath: string): Promise<void> {
  const mode = isRoot() ? 0o711 : 0o700;
  await mkdir(hostPath, { recursive: true, mode });
  // An older directory may be closed to others. Shared storage may refuse; its contents are 0700 anyway.
  await chmod(hostPath, mode).catch(() => undefined);
}

export async function makeOwnDirectory(hostPath: string): Promise<void> {
  await makeMissing(hostPath).catch(async (error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
    await makeParentDirectory(dirname(hostPath));
    await makeMissing(hostPath);
  });
  const directory = await Directory.openPath(hostPath);
  try {
    const made = await makeMissing(directory.child(temporaryDirectory));
    if (!isRoot()) return;
    const { uid, gid } = await directory.handle.stat();
    if (uid === 0) await giveAway(directory);
    else if (made) await giveTemporary(directory, uid, gid);
  } finally {
    await directory.close();
  }
}

/** Works by descriptor, since a running tool server may have replaced the entry. */
async function giveTemporary(directory: Directory, uid: number, gid: number): Promise<void> {
  const temporary = await directory.openDirectory(temporaryDirectory);
  try {
    await temporary.handle.chown(uid, gid);
  } finally {
    await temporary.close();
  }
}

/** Changes the directory itself last, so that the next process repeats an incomplete change. */
async function giveAway(directory: Directory): Promise<void> {
  try {
    await giveTemporary(directory, toolUser, toolUser);
    await directory.handle.chown(toolUser, toolUser);
  } catch (error) {
    if (!['EPERM', 'EINVAL', 'EROFS', 'ENOTSUP'].includes(errorCode(error) ?? '')) throw error;
  }
}

async function makeMissing(path: Name): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}
