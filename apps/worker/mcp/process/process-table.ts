// The processes of this machine as /proc shows them, and which of them belong to a tool server: those that carry the
// mark of its tree, and their descendants. Without /proc the table is empty. Signals nothing.
import { open, readdir, readlink } from 'node:fs/promises';
import { isOurMark, treeVariable } from './tree-mark.js';

export interface ProcessEntry {
  pid: number;
  parent: number;
  /** Of the process that began its session. */
  session: number;
  startedAt: string;
  /** Of the servers that it was started for; descendants that shed them all have none. */
  marks: readonly string[];
}

const readAtOnce = 32;
const maxLooks = 10;

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
    const stat = await readProc(`/proc/${pid}/stat`);
    const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const startedAt = rest[17];
    if (state === 'Z' || state === 'X' || startedAt === undefined) return undefined;
    return { pid, parent: Number(parent), session: Number(rest[1]), startedAt, marks: await readMarks(pid) };
  } catch {
    return undefined;
  }
}

async function readMarks(pid: number): Promise<string[]> {
  const read = await Promise.all([markInEnvironment(pid), markInLimits(pid)]);
  const marks = read.filter((mark): mark is string => mark !== undefined && isOurMark(mark));
  // A mark names its worker by process id: in another container's namespace that is somebody else.
  return marks.length > 0 && (await isOfOurNamespace(pid)) ? marks : [];
}

/** Another user's environment cannot be read: those are none of ours. */
async function markInEnvironment(pid: number): Promise<string | undefined> {
  const environment = await readProc(`/proc/${pid}/environ`).catch(() => '');
  return new RegExp(`(?:^|\0)${treeVariable}=(\\d+)(?:\0|$)`).exec(environment)?.[1];
}

async function markInLimits(pid: number): Promise<string | undefined> {
  const limits = await readProc(`/proc/${pid}/limits`).catch(() => '');
  return /^Max file locks +(\d+) +\1 /m.exec(limits)?.[1];
}

/** Small enough to come out of the pool of small buffers. */
const pieceBytes = 4_000;
/** The mark stands last in the environment that a server is given; one that is larger than this is not read to its end. */
const mostBytes = 1024 * 1024;

/** A file of /proc does not tell its size, and `readFile` would take 128 KiB for each: 50 MB a look at a hundred processes. */
async function readProc(path: string): Promise<string> {
  const file = await open(path);
  try {
    let text = '';
    for (;;) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, null);
      text += buffer.toString('latin1', 0, bytesRead);
      if (bytesRead < pieceBytes || text.length >= mostBytes) return text;
    }
  } finally {
    await file.close();
  }
}

let ownNamespace: Promise<string | undefined> | undefined;

async function isOfOurNamespace(pid: number): Promise<boolean> {
  ownNamespace ??= pidNamespace('self');
  const own = await ownNamespace;
  return own !== undefined && (await pidNamespace(pid)) === own;
}

function pidNamespace(of: number | 'self'): Promise<string | undefined> {
  return readlink(`/proc/${of}/ns/pid`).catch(() => undefined);
}
