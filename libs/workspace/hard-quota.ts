// `workspaces.quota: hard`: a session's directory is a file system of its own in memory (tmpfs), so that the kernel
// enforces its limits. Mounts and unmounts; without the permission to do so the process does not start.
import { randomBytes } from 'node:crypto';
import { lstat, mkdir, open, readdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError } from '#libs/config/config-error.js';
import { runProgram } from '#libs/process/run-program.js';
import { AppError } from '#libs/schemas/errors.js';
import { errorCode } from './file-errors.js';
import { toolUser } from './own-directory.js';
import type { WorkspaceLimits } from './usage-ledger.js';
import { temporaryDirectory } from './workspace-path.js';

const deadlineMs = 10_000;
const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
/** Linux counts whole pages; 0 would mean no limit. */
const pageBytes = 4_096;
/** The directory itself and its `.tmp`, which no limit counts. */
const uncounted = 2;
/** Limit of file systems on one directory; we mount only one. */
const mostMounts = 8;

/** Mounts an existing session directory, unless it is mounted. */
export async function mountOwn(hostPath: string, limits: WorkspaceLimits): Promise<void> {
  if (await isMounted(hostPath)) return;
  await locked(dirname(hostPath), async () => {
    if (!(await isMounted(hostPath))) await mount(hostPath, limits);
  });
}

/** Runs `body` while nothing is mounted on the directory; later mounts wait for it. */
export function withoutMount<T>(hostPath: string, body: () => Promise<T>): Promise<T> {
  return locked(dirname(hostPath), async () => {
    await unmount(hostPath);
    return body();
  });
}

/** A file system other than that of the parent directory. */
export async function isMounted(hostPath: string): Promise<boolean> {
  const [around, own] = await Promise.all([lstat(dirname(hostPath)), lstat(hostPath).catch(unlessGone)]);
  return own?.isDirectory() === true && own.dev !== around.dev;
}

/** Mounts and unmounts a directory with that name below `root`. @throws ConfigError that says what to do */
export async function tryMount(root: string, name: string, limits: WorkspaceLimits): Promise<void> {
  const hostPath = join(root, name);
  try {
    await locked(root, async () => {
      await mkdir(hostPath, { mode: 0o700 });
      try {
        await mount(hostPath, limits);
      } finally {
        await unmount(hostPath);
        await rmdir(hostPath);
      }
    });
  } catch (error) {
    const cause = error instanceof AppError ? error.cause : error;
    const reason = String(cause).trim().replaceAll(/\s+/g, ' ');
    const message =
      `hard needs root with CAP_SYS_ADMIN on Linux, and mount, umount and flock of util-linux: ` +
      `give it that, or set soft. A trial below the directory of the workspaces failed: ${reason}`;
    throw new ConfigError([{ key: 'workspaces.quota', message }]);
  }
}

async function mount(hostPath: string, { maxBytes, maxFiles }: WorkspaceLimits): Promise<void> {
  // The parent directory is ours: no other process puts a link in its place between this check and the mount.
  if (!(await lstat(hostPath)).isDirectory()) throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
  const hidden = (await readdir(hostPath)).filter((name) => name !== temporaryDirectory);
  if (hidden.length > 0) {
    const message = 'The workspace has files from before workspaces.quota was hard: they can be read, not changed';
    throw new AppError('workspace_unavailable', message);
  }
  const options = [
    `size=${Math.max(1, Math.floor(maxBytes / pageBytes)) * pageBytes}`,
    `nr_inodes=${maxFiles + uncounted}`,
    'mode=0700,nosuid,nodev',
    `uid=${toolUser},gid=${toolUser}`,
  ];
  const source = `signalbox-${randomBytes(4).toString('hex')}`;
  await run(['mount', '-t', 'tmpfs', '-o', options.join(','), source, hostPath]);
  if (!(await isMounted(hostPath))) throw new Error('mount did not mount anything');
}

/** Lazily: a process with an open file keeps only the file system's memory until it ends. */
async function unmount(hostPath: string): Promise<void> {
  for (let count = 0; count < mostMounts && (await isMounted(hostPath)); count += 1)
    await run(['umount', '-l', hostPath]);
}

/** One at a time for all processes of the machine: the lock is on the open directory, so it ends with its holder. */
async function locked<T>(root: string, body: () => Promise<T>): Promise<T> {
  const handle = await open(root);
  try {
    await run(['flock', '-w', String(deadlineMs / 1_000), '3'], handle.fd);
    return await body();
  } finally {
    await handle.close();
  }
}

async function run(command: readonly string[], descriptor?: number): Promise<void> {
  const { status, output } = await runProgram(command, { environment, timeoutMs: deadlineMs + 1_000, descriptor });
  if (status === 0) return;
  const cause = new Error(`${command[0]!}: ${output.trim() || `status ${status}`}`);
  throw new AppError('workspace_unavailable', 'The file system of the workspace cannot be changed', { cause });
}

function unlessGone(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error;
}
