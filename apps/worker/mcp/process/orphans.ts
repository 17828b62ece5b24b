// Ends the tool servers that a killed worker of this machine left behind. Touches only processes whose mark names a
// worker that is gone, and their descendants.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#libs/logging/logger.js';
import { readProcesses, treeOf, type ProcessEntry } from './process-table.js';
import { send } from './process-tree.js';
import { isOrphanMark, isOwnMark } from './tree-mark.js';

const deadlineMs = 5_000;
const lookEveryMs = 25;

/** Resolves with how many processes were ended. */
export async function reapOrphans(logger: Logger): Promise<number> {
  const reaped = new Set<string>();
  const deadline = performance.now() + deadlineMs;
  for (let left = await orphans(); left.length > 0; left = await orphans()) {
    for (const { pid, startedAt } of left) {
      reaped.add(`${pid} ${startedAt}`);
      send(pid, 'SIGKILL');
    }
    if (performance.now() > deadline) {
      logger.warn({ metadata: { processes: left.length } }, 'processes of a worker that is gone cannot be ended');
      break;
    }
    await delay(lookEveryMs);
  }
  if (reaped.size > 0) {
    logger.warn({ metadata: { processes: reaped.size } }, 'processes that a killed worker left were ended');
  }
  return reaped.size;
}

async function orphans(): Promise<ProcessEntry[]> {
  return treeOfMarks(isOrphanMark);
}

/** Processes of the tool servers of this worker, their descendants included. */
export async function countOwnProcesses(): Promise<number> {
  return (await treeOfMarks(isOwnMark)).length;
}

async function treeOfMarks(wanted: (mark: string) => boolean): Promise<ProcessEntry[]> {
  return treeOf(await readProcesses(), ({ marks }) => marks.some(wanted));
}
