// Parts of the kernel that a tool server has no use for, rights that it must not have, and objects that all processes of a
// machine share by name.
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { both, byUser, type Attack, type Prepared, type Stopped } from '../attack.js';
import type { Run } from '../attack.js';
import type { Scene } from '../scene.js';

interface Given {
  stopped?: Stopped;
  reason?: string;
  prepare?(scene: Scene, run: Run): Promise<Prepared> | Prepared;
}

const attack = (act: string, title: string, given: Given = {}): Attack => ({
  name: `kernel/${act}`,
  title,
  act,
  stopped: both('confined'),
  ...given,
});
/** A user without rights is refused by the kernel. */
const rootOnly = (act: string, title: string, given: Given = {}) =>
  attack(act, title, { stopped: both('process'), ...given });

const inWorkspace =
  (name: string) =>
  (_: Scene, { workspace }: Run) => ({ args: [join(workspace, name)] });
const workspace = (_: Scene, run: Run) => ({ args: [join(run.workspace, '.tmp')] });
const shared = async (scene: Scene, run: Run) => {
  const { key, secret } = await scene.victim('server', run, true);
  return { args: [String(key), secret] };
};
const worker = async (scene: Scene, run: Run) => ({ args: [String((await scene.victim('worker', run)).pid)] });

/** The device of the root file system, where this machine lets anyone read it. */
function disk(): Prepared {
  const path = /^(\/dev\/\S+) \/ /m.exec(readFileSync('/proc/mounts', 'utf8'))?.[1];
  try {
    if (path !== undefined) closeSync(openSync(path, 'r'));
  } catch {
    return { args: [] };
  }
  return { args: path === undefined ? [] : [path] };
}

export const kernelAttacks: readonly Attack[] = [
  attack('unshare-user', 'a user namespace'),
  rootOnly('unshare-mount', 'a mount namespace'),
  rootOnly('unshare-network', 'a network namespace'),
  rootOnly('unshare-processes', 'a process namespace'),
  attack('clone-user', 'a user namespace by clone'),
  attack('clone3-user', 'a user namespace by clone3'),
  attack('mount-in-user-namespace', 'mount, as root of a user namespace', { prepare: workspace }),
  rootOnly('setns', "enter the worker's network namespace", { prepare: worker }),
  rootOnly('mount', 'mount', { prepare: workspace }),
  rootOnly('fsopen', 'mount by the newer calls (fsopen)'),
  rootOnly('pivot-root', 'another root directory (pivot_root)', { prepare: workspace }),
  rootOnly('chroot', 'another root directory (chroot)', { prepare: workspace }),
  rootOnly('bpf', 'programs in the kernel (bpf)'),
  attack('perf-event-open', 'performance counters'),
  attack('add-key', 'keep a key in the kernel (add_key)'),
  attack('keyctl', 'keyrings (keyctl)'),
  attack('other-key', "read another server's key", { prepare: shared }),
  attack('io-uring', 'io_uring'),
  attack('userfaultfd', 'handle page faults (userfaultfd)'),
  attack('personality', 'addresses that are not random (personality)'),
  attack('fanotify', 'watch file systems (fanotify)'),
  attack('quotactl', 'disk quotas (quotactl)'),
  rootOnly('kernel-log', "the kernel's log"),
  rootOnly('init-module', 'load a kernel module'),
  rootOnly('kexec', 'start another kernel (kexec)'),
  rootOnly('swapon', 'swap'),
  rootOnly('reboot', 'restart the machine'),
  rootOnly('iopl', 'the processor’s ports (iopl)'),
  rootOnly('sethostname', 'rename the machine'),
  rootOnly('mknod', 'make a device', { prepare: inWorkspace('device') }),
  rootOnly('read-device', 'read the disk itself', { prepare: disk }),
  rootOnly('kernel-setting', 'change a setting of the kernel', {
    prepare: () => ({ args: ['/proc/sys/kernel/core_pattern'] }),
    stopped: byUser('confined'),
  }),
  rootOnly('capabilities', 'have rights of root'),
  rootOnly('setuid-root', 'become root (setuid)'),
  rootOnly('setuid-other', 'become another user', { prepare: () => ({ args: ['12345'] }) }),
  attack('set-uid-copy', 'become root by a set-uid program', {
    prepare: ({ setUidProbe }) => ({ args: [setUidProbe] }),
    stopped: both('process'),
  }),
  attack('set-uid-system', 'run `su` as root', {
    prepare: () => ({ args: ['/usr/bin/su'] }),
    stopped: both('process'),
  }),
  attack('shared-memory', "another server's shared memory (System V)", { prepare: shared }),
  attack('message-queue', "another server's message queue (System V)", { prepare: shared }),
  attack('semaphore', "another server's semaphore (System V)", { prepare: shared }),
  attack('posix-queue', "another server's message queue (POSIX)", { prepare: shared }),
  attack('leave-segment', 'shared memory that outlives its process'),
  attack('int80-socket', 'a socket by a 32-bit call'),
  attack('int80-unshare', 'a user namespace by a 32-bit call'),
  attack('x32-socket', 'a socket by an x32 call'),
  attack('x32-unshare', 'a user namespace by an x32 call'),
];
