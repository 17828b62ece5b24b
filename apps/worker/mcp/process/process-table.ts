// The processes of this machine as /proc shows them, and which of them belong to a tool server: those that carry the
// mark of its tree in their environment, and their descendants. Without /proc the table is empty. Signals nothing.
import { readdir, readFile, readlink } from 'node:fs/promises';
import { identifyProcess, isSameProcess } from '#libs/process/process-identity.js';

export interface ProcessEntry {
  pid: number;
  parent: number;
  /** Of the process that began its session. */
  session: number;
  startedAt: string;
  /** Of the server that it was started for; descendants that cleared their environment have none. */
  mark?: string;
}

/** Set in the environment of every server: `<random id>.<worker's pid>.<its start>.<pid namespace>`. */
export const treeVariable = 'SIGNALBOX_TOOL_TREE';

const readAtOnce = 32;
const maxLooks = 10;

interface Owner {
  pid: number;
  startedAt: string;
  namespace: string;
}

let ownOwner: Promise<Owner> | undefined;

function own(): Promise<Owner> {
  ownOwner ??= pidNamespace().then((namespace) => ({
    pid: process.pid,
    startedAt: identifyProcess(process.pid)?.startedAt ?? '0',
    namespace,
  }));
  return ownOwner;
}

/** Process ids mean something only within their namespace. */
async function pidNamespace(): Promise<string> {
  const link = await readlink('/proc/self/ns/pid').catch(() => '');
  return /\d+/.exec(link)?.[0] ?? '0';
}

export async function markOf(id: string): Promise<string> {
  const { pid, startedAt, namespace } = await own();
  // The start is opaque and may hold spaces where there is no /proc.
  return [id, pid, encodeURIComponent(startedAt).replaceAll('.', '%2E'), namespace].join('.');
}

export async function isOwnMark(mark: string): Promise<boolean> {
  return mark.split('.').slice(1).join('.') === (await markOf('x')).split('.').slice(1).join('.');
}

/** Whether the worker that a mark names is gone, as far as that can be told from here. */
export async function isOrphanMark(mark: string): Promise<boolean> {
  const [, pid, startedAt, namespace] = mark.split('.');
  if (pid === undefined || startedAt === undefined || namespace !== (await own()).namespace) return false;
  return !isSameProcess({ pid: Number(pid), startedAt: decodeURIComponent(startedAt) });
}

/** The marked processes and all that descend from them. */
export function treeOf(entries: readonly ProcessEntry[], belongs: (entry: ProcessEntry) => boolean): ProcessEntry[] {
  const children = new Map<number, ProcessEntry[]>();
  for (const entry of entries) children.set(entry.parent, [...(children.get(entry.parent) ?? []), entry]);
  const found = new Set<ProcessEntry>();
  const pending = entries.filter(belongs);
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    if (found.has(entry)) continue;
    found.add(entry);
    pending.push(...(children.get(entry.pid) ?? []));
  }
  return [...found];
}

let running: Promise<ProcessEntry[]> | undefined;
let next: Promise<ProcessEntry[]> | undefined;

/** Read after the call began; calls at one moment share a reading. */
export function readProcesses(): Promise<ProcessEntry[]> {
  if (running === undefined) {
    running = readAll().finally(() => (running = undefined));
    return running;
  }
  next ??= running
    .catch(() => undefined)
    .then(() => {
      next = undefined;
      return readProcesses();
    });
  return next;
}

/**
 * Looks again until a look shows nobody new: a process that hands its place on to another one while it is read would be
 * in none of them. Who forks faster than that is found by whoever reads next.
 */
async function readAll(): Promise<ProcessEntry[]> {
  const entries = new Map<string, ProcessEntry | undefined>([[String(process.pid), undefined]]);
  for (let look = 0; look < maxLooks; look += 1) {
    const names = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name) && !entries.has(name));
    if (names.length === 0) break;
    for (let from = 0; from < names.length; from += readAtOnce) {
      const some = names.slice(from, from + readAtOnce);
      const read = await Promise.all(some.map((name) => readEntry(Number(name))));
      for (const [index, name] of some.entries()) entries.set(name, read[index]);
    }
  }
  return [...entries.values()].filter((entry) => entry !== undefined);
}

/** Undefined for what has ended, also while its parent has not looked after it. */
async function readEntry(pid: number): Promise<ProcessEntry | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const startedAt = rest[17];
    if (state === 'Z' || state === 'X' || startedAt === undefined) return undefined;
    const mark = await readMark(pid);
    return {
      pid,
      parent: Number(parent),
      session: Number(rest[1]),
      startedAt,
      ...(mark === undefined ? {} : { mark }),
    };
  } catch {
    return undefined;
  }
}

/** Another user's environment cannot be read: those are none of ours. */
async function readMark(pid: number): Promise<string | undefined> {
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
  const start = `\0${environment}`.indexOf(`\0${treeVariable}=`);
  if (start === -1) return undefined;
  const from = start + treeVariable.length + 1;
  const end = environment.indexOf('\0', from);
  return environment.slice(from, end === -1 ? undefined : end);
}
