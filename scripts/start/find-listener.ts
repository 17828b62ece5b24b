// Who listens on a port: for an error that can be acted on, and to tell a service from a stranger on its port. A best
// effort: other users' processes may be hidden.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Such as `process 4711 (node server.js)`; undefined where it is unknown. */
export function findListener(port: number): string | undefined {
  return process.platform === 'linux' ? findInProc(port) : findWithLsof(port);
}

/** Whether the process has a listening socket on the port; true too where that is unknown. */
export function listensOn(port: number, pid: number): boolean {
  if (process.platform !== 'linux') return true;
  const sockets = listeningSockets(port);
  return list(`/proc/${pid}/fd`).some((descriptor) => sockets.has(linkOf(`/proc/${pid}/fd/${descriptor}`)));
}

const listen = '0A';

/** As links of descriptors name them. */
function listeningSockets(port: number): Set<string> {
  const inodes = new Set<string>();
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readLines(table)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === listen && local?.endsWith(suffix) === true && inode !== undefined) inodes.add(`socket:[${inode}]`);
    }
  }
  return inodes;
}

function findInProc(port: number): string | undefined {
  const inodes = listeningSockets(port);
  if (inodes.size === 0) return undefined;
  for (const pid of list('/proc').filter((name) => /^\d+$/.test(name))) {
    for (const descriptor of list(`/proc/${pid}/fd`)) {
      if (!inodes.has(linkOf(`/proc/${pid}/fd/${descriptor}`))) continue;
      const command = readLines(`/proc/${pid}/cmdline`)[0]?.replaceAll('\0', ' ').trim() ?? '';
      return `process ${pid} (${command.slice(0, 80)})`;
    }
  }
  return undefined;
}

function findWithLsof(port: number): string | undefined {
  try {
    const text = execFileSync('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc'], {
      encoding: 'utf8',
      timeout: 5_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const pid = /^p(\d+)$/m.exec(text)?.[1];
    return pid === undefined ? undefined : `process ${pid} (${/^c(.*)$/m.exec(text)?.[1] ?? ''})`;
  } catch {
    return undefined;
  }
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
