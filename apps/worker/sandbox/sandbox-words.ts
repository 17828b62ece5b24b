// The command line that starts a server at a level: the launcher's options, and bubblewrap's. It never contains
// secrets: other processes can read it.
import { join } from 'node:path';
import { temporaryDirectory } from '#libs/workspace/workspace-path.js';
import type { IsolationLevel } from './levels.js';
import type { ToolUser } from './tool-user.js';

/** `full`, or nothing but the proxy that listens on this port of 127.0.0.1. */
export type SandboxNetwork = 'none' | 'full' | { proxyPort: number };

export interface SandboxRequest {
  file: string;
  args: readonly string[];
  /** The only directory that it may write to; its `.tmp` is `/tmp` if the level supports that. */
  directory: string;
  readable: readonly string[];
  /** Beside its directory. */
  writable: readonly string[];
  network: SandboxNetwork;
  user?: ToolUser;
  /** Of all its processes together; absent: not bounded. */
  memoryBytes?: number;
  /** Whether it asks `ToolProcess.names` before it makes files: see launcher/notify.c. */
  countNames?: boolean;
  /** It is started by another user than root from where only root may go. */
  keepReading?: boolean;
  /** It is started by root, and may write to what belongs to others. */
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
  // The outer one supervises, the inner one confines what sees nothing but its namespaces.
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
    // The inner launcher refuses what it should; a namespace of its own would cut it off from the proxy too.
    ...(network === 'none' ? [] : ['--share-net']),
    ...`--proc /proc --dev /dev --size ${sharedMemoryBytes} --tmpfs /dev/shm`.split(' '),
    // First, since what is named below may lie in it; then it is another one, lest its names appear in the workspace.
    ...(directory.startsWith('/tmp/') ? ['--tmpfs', '/tmp'] : ['--bind', join(directory, temporaryDirectory), '/tmp']),
    ...[...readable, launcher].filter((path) => !kernel(path)).flatMap((path) => ['--ro-bind-try', path, path]),
    ...[directory, ...writable].flatMap((path) => ['--bind', path, path]),
    '--chdir',
    directory,
  ];
}
