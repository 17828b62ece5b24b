// Tells whether a server runs on a cluster already, and clears what a crash left so that it blocks no later start.
// Never ends a server of another owner.
import { chown, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  identifyProcess,
  isAlive,
  isSameProcess,
  readCommandLine,
  type ProcessIdentity,
} from '../process/process-identity.js';
import { clusterPath } from './cluster.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** Beyond every system's largest process id, so nothing ever has it. */
const noProcess = 2 ** 22 + 1;

/** A server whose owner was killed needs this long at most to end by itself. */
const orphanDeadlineMs = 20_000;

/** Returns when no server runs on the cluster; throws `already_running` when one does and has an owner. */
export async function ensureNotRunning(directory: string, signal: AbortSignal | undefined): Promise<void> {
  const cluster = clusterPath(directory);
  const deadline = performance.now() + orphanDeadlineMs;
  for (;;) {
    const pid = await readServerPid(cluster);
    if (pid === undefined) return;
    if (!isAlive(pid) || !readCommandLine(pid).includes(cluster)) {
      await disown(cluster, pid);
      return;
    }
    const owner = await readOwner(directory);
    if (owner === undefined || isSameProcess(owner) || performance.now() > deadline) {
      throw alreadyRunning(directory, owner?.pid ?? pid);
    }
    // The server lost its owner and is ending. As no child of ours, it sends no event.
    await delay(50, undefined, signal === undefined ? {} : { signal });
  }
}

export function alreadyRunning(directory: string, pid: number): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'already_running',
    `Signalbox is already running on this data directory: process ${pid} has the database in ${directory} open. ` +
      'Stop that one first, or set DATA_DIR (and PORT) to run a second one beside it.',
  );
}

export async function writeOwner(directory: string): Promise<void> {
  const path = join(directory, 'owner.json');
  await writeFile(path, JSON.stringify(identifyProcess(process.pid)), { mode: 0o600 });
  const { uid, gid } = await stat(directory);
  // The owner of the directory must be able to write the file next time.
  if (process.getuid?.() === 0) await chown(path, uid, gid);
}

export async function readServerPid(cluster: string): Promise<number | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const pid = Number.parseInt(text, 10);
  return Number.isNaN(pid) ? undefined : pid;
}

async function readOwner(directory: string): Promise<ProcessIdentity | undefined> {
  try {
    return JSON.parse(await readFile(join(directory, 'owner.json'), 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

/**
 * PostgreSQL refuses to start if the process in the pid file is another program by now. Only the id is replaced: by the
 * rest of the file PostgreSQL detects that processes of the dead server still hold its memory.
 */
async function disown(cluster: string, pid: number): Promise<void> {
  const path = join(cluster, 'postmaster.pid');
  const text = await readFile(path, 'utf8');
  if (Number.parseInt(text, 10) === pid) await writeFile(path, text.replace(/^\d+/, String(noProcess)));
}
