// Watches what a tool server writes by itself into a workspace while a call runs. The count comes after the fact, so the
// quota is soft: above it the process tree is stopped, counted again while it stands still, and ended or let go on.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { diskFull, type FreeSpace } from '#libs/workspace/free-space.js';
import type { ScannedUsage, Usage, WorkspaceLimits } from '#libs/workspace/usage-ledger.js';

/** The processes of one instance. Each call ends in bounded time; those that have ended already are no failure. */
export interface ProcessTree {
  /** Resolves when none of them runs any more: nothing is written until `resume`. */
  stop(): Promise<void>;
  resume(): Promise<void>;
  /** Ends all of them for good, stopped ones too; calls that run there fail with the error. */
  end(error: AppError): Promise<void>;
}

export interface QuotaWatchOptions {
  tree: ProcessTree;
  /** Counts the workspace anew: `Workspaces.measure`. */
  count: (signal: AbortSignal) => Promise<ScannedUsage>;
  /** As it was before the call came to the tree: what was above a limit then may stay, and be deleted, but not grow. */
  before: Usage;
  limits: WorkspaceLimits;
  /** Absent: calls are always under way. */
  activity?: CallActivity;
  space: Pick<FreeSpace, 'bytes' | 'minFreeBytes'>;
  logger: Logger;
}

/** Between two counts above half of a limit, and at most; below half by how soon a fast writer could be there. */
const closeMs = 50;
const farMs = 1_000;
const fastestBytesPerMs = 2 * 1_024 * 1_024;
const fastestEntriesPerMs = 50;
/** While no call is under way: what a server writes by itself is found later. */
const idleMs = 5_000;
/** Counting takes at most a fifth of the time, however many files there are. */
const restPerCount = 4;

/** Whether calls are under way on an instance. */
export class CallActivity {
  private running = 0;
  private onBegun: (() => void) | undefined;

  get isBusy(): boolean {
    return this.running > 0;
  }

  async during<T>(call: () => Promise<T>): Promise<T> {
    this.running += 1;
    this.onBegun?.();
    try {
      return await call();
    } finally {
      this.running -= 1;
    }
  }

  /** Resolves when a call begins, or after so long. Of one waiter. */
  begun(withinMs: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.onBegun = () => woken.abort();
    const rest = delay(withinMs, undefined, { signal: AbortSignal.any([signal, woken.signal]) });
    return rest.catch(() => undefined).finally(() => (this.onBegun = undefined));
  }
}

/** Watches until the signal aborts, or the tree was ended: resolves with why. One for each instance. Never rejects. */
export async function watchQuota(options: QuotaWatchOptions, signal: AbortSignal): Promise<AppError | undefined> {
  const { logger, activity } = options;
  let isBlind = false;
  while (!signal.aborted) {
    let pauseMs = farMs;
    const lookedAt = performance.now();
    try {
      const { leftMs, reason, countMs } = await look(options, signal);
      const ended = reason === undefined ? undefined : await judge(options, signal);
      if (ended !== undefined) return ended;
      pauseMs = pauseAfter(leftMs, countMs);
      isBlind = false;
    } catch (error) {
      // Out of descriptors, for example: the next look may be better.
      if (!signal.aborted && !isBlind) logger.warn({ error }, 'a workspace could not be watched');
      isBlind = true;
    }
    if (activity?.isBusy === false) await activity.begun(idleMs, signal);
    const left = pauseMs - (performance.now() - lookedAt);
    if (left > 0) await delay(left, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

interface Look {
  /** Until a fast writer could be at half of the nearest limit. */
  leftMs: number;
  /** Why the tree must not go on. */
  reason: AppError | undefined;
  countMs: number;
}

async function look(options: QuotaWatchOptions, signal: AbortSignal): Promise<Look> {
  const { count, limits, space } = options;
  const startedAt = performance.now();
  const usage = await count(signal);
  const countMs = performance.now() - startedAt;
  const freeBytes = await space.bytes().catch(() => Infinity);
  const leftMs = Math.min(
    (limits.maxBytes / 2 - usage.bytes) / fastestBytesPerMs,
    (limits.maxFiles / 2 - entries(usage)) / fastestEntriesPerMs,
    (freeBytes - space.minFreeBytes) / 2 / fastestBytesPerMs,
  );
  return { leftMs, reason: reasonToEnd(options, usage, freeBytes), countMs };
}

function reasonToEnd(
  { before, limits, space }: QuotaWatchOptions,
  usage: ScannedUsage,
  freeBytes: number,
): AppError | undefined {
  const { maxBytes, maxFiles, maxDepth } = limits;
  if (usage.bytes > Math.max(maxBytes, before.bytes)) return exceeded(`at most ${maxBytes} bytes`);
  // A count ends at twice the limit: beyond it growth is not seen.
  const mostEntries = Math.min(Math.max(maxFiles, entries(before)), maxFiles * 2);
  if (entries(usage) > mostEntries) return exceeded(`at most ${maxFiles} files and directories`);
  if (usage.tooDeep) return exceeded(`directories are more than ${maxDepth} deep`);
  // Others may have filled the disk: only what has grown is to blame.
  const hasGrown = usage.bytes > before.bytes || entries(usage) > entries(before);
  return hasGrown && freeBytes < space.minFreeBytes ? diskFull() : undefined;
}

/** Between the first count and the stop the tree may have deleted as well as written. */
async function judge(options: QuotaWatchOptions, signal: AbortSignal): Promise<AppError | undefined> {
  const { tree } = options;
  let ended = false;
  try {
    await tree.stop();
    const { reason } = await look(options, signal);
    if (reason === undefined) return undefined;
    ended = true;
    await tree.end(reason);
    return reason;
  } finally {
    // Also when counting failed or the watch is over: what is stopped would stand there for ever.
    if (!ended) await tree.resume();
  }
}

const entries = ({ files, directories }: Usage) => files + directories;

function pauseAfter(leftMs: number, countMs: number): number {
  return Math.max(closeMs, Math.min(farMs, leftMs), countMs * restPerCount);
}

const exceeded = (what: string) =>
  new AppError(
    'workspace_quota_exceeded',
    `The tool was ended because it filled the workspace: ${what}. Delete files, then try again.`,
  );
