// The mark of one tool server's process tree: a number that names the worker it belongs to. Every process of the tree
// carries it in its environment and in a limit that nothing uses, both inherited. The limit stays where a process clears
// its environment, begins a session and loses its parents.
import { identifyProcess } from '#libs/process/process-identity.js';

export const treeVariable = 'SIGNALBOX_TOOL_TREE';

/** From the top: a sign that it is ours, the worker's process id, its start, the number of the tree in this worker. */
const sign = 0b10_1101n;
const pidBits = 22n;
const startBits = 20n;
const treeBits = 15n;
const ownerBits = pidBits + startBits;
const maxTree = (1 << Number(treeBits)) - 1;

const low = (bits: bigint) => (1n << bits) - 1n;

/** Of the process as it was started: another one with the same id has another one. Zero where there is no such process. */
function ownerOf(pid: number): bigint {
  const ticks = identifyProcess(pid)?.startedAt ?? '';
  if (!/^\d+$/.test(ticks)) return 0n;
  return ((BigInt(pid) & low(pidBits)) << startBits) | (BigInt(ticks) & low(startBits));
}

let own: bigint | undefined;
const used = new Set<number>();
let last = 0;

const markOf = (tree: number) =>
  String((((sign << ownerBits) | (own ??= ownerOf(process.pid))) << treeBits) | BigInt(tree));

/** No other tree of this worker has it until it is given back. */
export function takeMark(): string {
  do last = (last % maxTree) + 1;
  while (used.has(last) && used.size < maxTree);
  used.add(last);
  return markOf(last);
}

export function giveMarkBack(mark: string): void {
  used.delete(Number(BigInt(mark) & low(treeBits)));
}

/** The option of `prlimit` that puts a mark on what it starts. Nothing on Linux counts file locks any more. */
export const markOption = (mark: string): string => `--locks=${mark}`;

/** As high as any of this worker: whoever may set this one may set all. */
export const highestMark = (): string => markOf(maxTree);

/** A mark at all: limits may be set for other reasons. */
export function isOurMark(mark: string): boolean {
  return mark.length <= 20 && BigInt(mark) >> (ownerBits + treeBits) === sign;
}

export function isOwnMark(mark: string): boolean {
  return BigInt(mark) >> treeBits === BigInt(markOf(0)) >> treeBits;
}

/** The process id of the worker that a mark names. */
export const workerOf = (mark: string): number => Number(ownerIn(mark) >> startBits);

/** Whether the worker that a mark names is gone. */
export function isOrphanMark(mark: string): boolean {
  return ownerOf(workerOf(mark)) !== ownerIn(mark);
}

const ownerIn = (mark: string): bigint => (BigInt(mark) >> treeBits) & low(ownerBits);
