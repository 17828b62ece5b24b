// The command line that starts a server at a level: the launcher's options, and bubblewrap's. It never contains
// secrets: other processes can read it.
import { join } from 'node:path';
import { temporaryDirectory } from '#libs/workspace/workspace-path.js';
import type { IsolationLevel } from './levels.js';
import type { ToolUser } from './tool-user.js';

/** With `proxyPort`, only the proxy on that port of 127.0.0.1 can be reached. */
export type SandboxNetwork = 'none' | 'full' | { proxyPort: number };

export interface SandboxRequest {
  file: string;
  args: readonly string[];
  /** The server's directory; its `.tmp` is `/tmp` if the level supports that. */
  directory: string;
  readable: readonly string[];
  /** Paths that the server may write to besides its directory. */
  writable: readonly string[];
  network: SandboxNetwork;
  user?: ToolUser;
  /** The memory of all processes of the server together; absent: not bounded. */
  memoryBytes?: number;
  /** Whether the launcher asks `ToolProcess.names` before the server makes files: see launcher/notify.c. */
  countNames?: boolean;
  /** Keeps root's right to read for a server of another user, since not all users may read its paths. */
  keepReading?: boolean;
  /** Keeps root's right to write for a server that may write to files of other users. */
  keepWriting?: boolean;
}

export interface SandboxPrograms {
  launcher: string;
  bubblewrap?: string;
  maxFileBytes: number;
}

/** Maximum processes and threads of one server and everything it starts. */
export const maxTasks = 512;
const dataBytes = 4 * 1024 ** 3;
const cpuSeconds = 3_600;
const openFiles = 4_096;
const sharedMemoryBytes = 64 * 1024 ** 2;

export function sandboxWords(
  level: Exclude<IsolationLevel, 'none'>,
  request: SandboxRequest,
  programs: SandboxPrograms,
): string[] {
  const { launcher } = programs;
  const outer = [...treeWords(request), ...userWords(request)];
  if (level !== 'namespace')
    return [launcher, ...innerWords(level, request, programs), ...outer, ...commandOf(request)];
  // The outer launcher supervises; the inner one confines the program within bubblewrap's namespaces.
  const inner = { ...request, readable: ['/'], writable: [...request.writable, '/tmp', '/dev/shm'] };
  const inside = [launcher, ...innerWords('confined', inner, programs), ...namesWords(request), ...commandOf(request)];
  return [launcher, '--level', 'supervised', ...outer, '--', ...bubblewrapWords(request, programs), '--', ...inside];
}

const commandOf = ({ file, args }: SandboxRequest): string[] => ['--', file, ...args];

const namesWords = ({ countNames = false }: SandboxRequest) => (countNames ? ['--count-names', 'yes'] : []);

function treeWords(request: SandboxRequest): string[] {
  const { memoryBytes } = request;
  return [...(memoryBytes === undefined ? [] : ['--memory', String(memoryBytes)]), ...namesWords(request)];
}

function userWords({ user, keepReading = false, keepWriting = false }: SandboxRequest): string[] {
  if (user === undefined) return [];
  const kept = [...(keepReading ? ['--keep-read', 'yes'] : []), ...(keepWriting ? ['--keep-write', 'yes'] : [])];
  return ['--user', `${user.uid}:${user.gid}`, ...kept];
}

function innerWords(
  level: 'process' | 'confined',
  { directory, readable, writable, network }: SandboxRequest,
  { maxFileBytes }: SandboxPrograms,
): string[] {
  const limits = ['--tasks', maxTasks, '--data', dataBytes, '--cpu', cpuSeconds, '--fsize', maxFileBytes];
  const words = ['--level', level, ...limits.map(String), '--nofile', String(openFiles)];
  if (level === 'process') return words;
  return [
    ...words,
    '--network',
    typeof network === 'string' ? network : `proxy:${network.proxyPort}`,
    ...readable.flatMap((path) => ['--read', path]),
    ...[directory, '/dev/null', ...writable].flatMap((path) => ['--write', path]),
  ];
}

function bubblewrapWords(
  { directory, readable, writable, network }: SandboxRequest,
  { launcher, bubblewrap = 'bwrap' }: SandboxPrograms,
): string[] {
  const kernel = (path: string) => /^\/(?:proc|dev|sys)(?:\/|$)/.test(path);
  return [
    bubblewrap,
    ...'--unshare-all --unshare-user --disable-userns --die-with-parent --cap-drop ALL'.split(' '),
    // The inner launcher limits the network; a network namespace would also cut off the proxy.
    ...(network === 'none' ? [] : ['--share-net']),
    ...`--proc /proc --dev /dev --size ${sharedMemoryBytes} --tmpfs /dev/shm`.split(' '),
    // `/tmp` comes first, since paths below may lie in it. If the directory does, `/tmp` is empty, not the workspace's `.tmp`.
    ...(directory.startsWith('/tmp/') ? ['--tmpfs', '/tmp'] : ['--bind', join(directory, temporaryDirectory), '/tmp']),
    ...[...readable, launcher].filter((path) => !kernel(path)).flatMap((path) => ['--ro-bind-try', path, path]),
    ...[directory, ...writable].flatMap((path) => ['--bind', path, path]),
    '--chdir',
    directory,
  ];
}
