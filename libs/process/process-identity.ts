// Identifies a process beyond its id, which may be reused within seconds in containers: always store the start time too.
// Only queries the system; never sends signals.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  pid: number;
  /** Opaque; equal only for the same process. */
  startedAt: string;
}

/** Undefined if there is no such process, or only a zombie. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  if (process.platform === 'linux') {
    const { state, startedAt } = readStat(pid);
    return startedAt === undefined || state === 'Z' || state === 'X' ? undefined : { pid, startedAt };
  }
  const startedAt = askPs(pid, 'lstart');
  return startedAt === undefined ? undefined : { pid, startedAt };
}

export function isSameProcess(stored: ProcessIdentity): boolean {
  return identifyProcess(stored.pid)?.startedAt === stored.startedAt;
}

export function isAlive(pid: number): boolean {
  return identifyProcess(pid) !== undefined;
}

/** The command line, words separated by spaces; empty if it cannot be read. */
export function readCommandLine(pid: number): string {
  if (process.platform !== 'linux') return askPs(pid, 'command') ?? '';
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

export function readParent(pid: number): number | undefined {
  const parent = Number(process.platform === 'linux' ? readStat(pid).parent : askPs(pid, 'ppid'));
  return Number.isInteger(parent) && parent > 0 ? parent : undefined;
}

/** Fields 3, 4 and 22 (clock ticks since boot), counted after the process name, which may contain any characters. */
function readStat(pid: number): {
  state?: string | undefined;
  parent?: string | undefined;
  startedAt?: string | undefined;
} {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0], parent: fields[1], startedAt: fields[19] };
  } catch {
    return {};
  }
}

function askPs(pid: number, column: string): string | undefined {
  try {
    const text = execFileSync('/bin/ps', ['-o', `${column}=`, '-p', String(pid)], {
      encoding: 'utf8',
      timeout: 5_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}
